"""The printed tables of the papers, and their reproduction: every printed number is recomputed and compared.

tables/            the printed numbers
papers.toml        citations, and the captions of the tables
sources/           recipes that recompute the numbers: from released predictions or translations, or by running a model
reasons.toml       known reasons why recomputed numbers differ from the printed ones, with the evidence
reproduction.py    recomputes the numbers and compares them with the printed ones
model_runs/        the runs of models that `reproduce --from-models` needs
figures/           figures of papers, with the printed and the recomputed numbers
output/            the result of a reproduction in the terminal, as JSON and as Markdown
"""
