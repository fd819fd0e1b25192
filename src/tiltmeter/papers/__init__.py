"""The printed tables of the papers, and their reproduction: every printed number is recomputed and compared.

tables/            the printed numbers
papers.toml        citations, and the captions of the tables
sources/           recipes for each number: from released predictions or translations, or by running a model
reasons.toml       known reasons why numbers differ, with the evidence
reproduction.py    recomputes the numbers and compares them
output/            the result for the terminal, as JSON and as Markdown
"""
