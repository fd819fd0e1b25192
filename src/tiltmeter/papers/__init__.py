"""The papers' tables as data, and what becomes of their numbers when they are recomputed.

tables/            the numbers, as printed
papers.toml        what to cite, and what each table is about
sources/           what recomputes each number: released predictions, released translations, or a run of a model
reasons.toml       why some numbers differ, with the evidence
reproduction.py    all of it put together
"""
