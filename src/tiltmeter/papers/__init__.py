"""The tables of the papers as data, and their reproduction: every printed number recomputed and compared.

tables/            the numbers, as printed
papers.toml        citations, and the captions of the tables
sources/           how each number is recomputed: from released predictions or translations, or by running a model
reasons.toml       why some numbers differ, with the evidence
reproduction.py    recomputes the numbers and compares them
output/            the result for the terminal, JSON, Markdown, LaTeX and HTML
"""
