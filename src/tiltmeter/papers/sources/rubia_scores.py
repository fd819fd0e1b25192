"""Recipes for the table of RuBia (Grigoreva et al. 2024), from the released perplexities of nine models."""

import csv
import io
from pathlib import Path

import pandas as pd

from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.errors import DataError
from tiltmeter.measures import pairs
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources.recipe import Key, Numbers, NumberSource, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

REPOSITORY = "vergrig/RuBia-Dataset"
FILE = "scored_data.tsv"
# Map the models, domains and subdomains of the table to their names in the file of scores.
MODELS = {
    "XGLM": "XGLM",
    "mGPT": "mGPT",
    "ruBERT-large": "ruBert-large",
    "ruGPT-medium": "ruGPT-base",
    "ruGPT-large": "ruGPT-large",
    "ruRoBERTa-large": "ruRoberta-large",
    "ruBERT-base": "rubert-base",
    "TwHIN-BERT": "twhin-bert",
    "xlm-roberta-large": "xlm-roberta-large",
}
_DOMAINS = {"diverse": "lgbtq"}
_SUBDOMAINS = {
    ("diverse", "freeform_1"): "freeform_gendergap",
    ("diverse", "freeform_2"): "freeform_lgb",
    ("diverse", "freeform_3"): "freeform_repres",
    ("diverse", "freeform_4"): "freeform_transnb",
}
# Which pairs are counted: all, all without repetitions, or all except pairs about inclusive spellings.
EVERY, DISTINCT, STEREOTYPES = "all", "distinct", "without freeform_gendergap"
_SPELLINGS = "freeform_gendergap"
_NO_RUN = (
    "RuBia's perplexities were computed by its authors' own code, which Tiltmeter does not implement; run without "
    "--from-models to use the released perplexities."
)


def find_source(cell: CellKey, *, from_models: bool) -> NumberSource:
    """Return the source of the number in a table cell; `pairs` in the cell selects which pairs are counted."""
    domain = _DOMAINS.get(cell["domain"], cell["domain"])
    view, group = "bias_type", domain
    if cell["subdomain"] != "all":
        subdomain = _SUBDOMAINS.get((cell["domain"], cell["subdomain"]), cell["subdomain"])
        view, group = "subtype", f"{domain}: {subdomain}"
    key: Key = (MODELS[cell["model"]], view, group)
    if from_models:
        return NumberSource(key, lacking=_NO_RUN)
    return NumberSource(key, Recipe(FILE, measure_perplexities, (cell.get("pairs", EVERY),)))


def measure_perplexities(context: RecipeContext, counted: str) -> Numbers:
    """Return the published CrowS-Pairs score (CPS) for each model, domain and subdomain.

    A model prefers the sentence with the lower perplexity.
    """
    scores = context.compute_once(read_perplexities, context.fetch_file(REPOSITORY, FILE))
    if counted == DISTINCT:
        scores = scores[~scores.duplicated(["model", "role", "bias_type", "more", "less"])]
    if counted == STEREOTYPES:
        scores = scores[~scores["subtype"].str.endswith(_SPELLINGS)]
    records = pairs.measure(scores.drop(columns=["more", "less"]), intervals=False)
    return {(r.model, r.view, r.group): r.value for r in records if r.measure == pairs.CPS_PUBLISHED.name}


def read_perplexities(path: Path) -> pd.DataFrame:
    """Return a table with the sentences and scores of the released file; a score is the negative perplexity."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter="\t")
    columns = {(m, side): f"ppl-{side}-{m}" for m in MODELS.values() for side in ("pro", "anti")}
    wanted = ["pro-trope", "anti-trope", "domain", "task_type", *columns.values()]
    missing = [name for name in wanted if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{path} has no column {', '.join(missing)}; download it again.")
    shared = {"benchmark": "rubia", "part": "all", "language": "ru", "protocol": "published"}
    rows = []
    for number, row in enumerate(reader):
        subtype = f"{row['domain']}: {row['task_type']}"
        texts = {"more": row["pro-trope"], "less": row["anti-trope"]}
        labels = {**shared, **texts, "item": str(number), "bias_type": row["domain"], "subtype": subtype}
        for (model, side), column in columns.items():
            try:
                score = -float(row[column])
            except (TypeError, ValueError):
                raise DataError(
                    f"{path}, row {number + 1}, {column}: {row[column]!r} is not a number; download the file again."
                ) from None
            rows.append({**labels, "model": model, "role": "more" if side == "pro" else "less", "score": score})
    return pd.DataFrame(rows)
