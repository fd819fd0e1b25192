"""Grigoreva et al. (2024): the table of RuBia, recomputed from the released perplexities of nine models."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.errors import DataError
from tiltmeter.measures import pairs
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources.recipe import Key, Numbers, NumberSource
from tiltmeter.papers.sources.recipe_context import RecipeContext

REPOSITORY = "vergrig/RuBia-Dataset"
FILE = "scored_data.tsv"
# The names of models, domains and subdomains in the file of scores, where the table has others.
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
# Which pairs count: all; without repetitions; without those about inclusive spellings.
EVERY, DISTINCT, STEREOTYPES = "all", "distinct", "without freeform_gendergap"
_SPELLINGS = "freeform_gendergap"
_NO_RUN = (
    "RuBia's perplexities were computed by its authors' own code, which is no protocol here; they are read without "
    "--from-models."
)


def find_source(cell: CellKey, *, from_models: bool) -> NumberSource:
    """The source of the number in a cell; `pairs` in the cell says which pairs count."""
    domain = _DOMAINS.get(cell["domain"], cell["domain"])
    view, group = "bias_type", domain
    if cell["subdomain"] != "all":
        subdomain = _SUBDOMAINS.get((cell["domain"], cell["subdomain"]), cell["subdomain"])
        view, group = "subtype", f"{domain}: {subdomain}"
    key: Key = (MODELS[cell["model"]], view, group)
    if from_models:
        return NumberSource(key, lacking=_NO_RUN)
    return NumberSource(key, ReleasedPerplexities(cell.get("pairs", EVERY)))


@dataclass(frozen=True, slots=True)
class ReleasedPerplexities:
    """The released perplexities of all models; `counted` says which pairs count."""

    counted: str = EVERY

    @property
    def name(self) -> str:
        """The file."""
        return FILE

    def numbers(self, desk: RecipeContext) -> Numbers:
        """CPS as published by model, domain and subdomain: the sentence with the lower perplexity is preferred."""
        scores = desk.compute_once(read_perplexities, desk.fetch(REPOSITORY, FILE))
        if self.counted == DISTINCT:
            scores = scores[~scores.duplicated(["model", "role", "bias_type", "more", "less"])]
        if self.counted == STEREOTYPES:
            scores = scores[~scores["subtype"].str.endswith(_SPELLINGS)]
        records = pairs.measure(scores.drop(columns=["more", "less"]), intervals=False)
        return {(r.model, r.view, r.group): r.value for r in records if r.measure == pairs.CPS_PUBLISHED.name}


def read_perplexities(path: Path) -> pd.DataFrame:
    """The table of scores in the released file, with the sentences: the score is the negative perplexity."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter="\t")
    columns = {(m, side): f"ppl-{side}-{m}" for m in MODELS.values() for side in ("pro", "anti")}
    wanted = ["pro-trope", "anti-trope", "domain", "task_type", *columns.values()]
    missing = [name for name in wanted if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{path} has no column {', '.join(missing)}; fetch it again.")
    case = {"benchmark": "rubia", "part": "all", "language": "ru", "protocol": "published"}
    rows = []
    for number, row in enumerate(reader):
        subtype = f"{row['domain']}: {row['task_type']}"
        texts = {"more": row["pro-trope"], "less": row["anti-trope"]}
        labels = {**case, **texts, "item": str(number), "bias_type": row["domain"], "subtype": subtype}
        for (model, side), column in columns.items():
            try:
                score = -float(row[column])
            except (TypeError, ValueError):
                raise DataError(f"{path}, row {number + 1}, {column}: {row[column]!r} is no perplexity.") from None
            rows.append({**labels, "model": model, "role": "more" if side == "pro" else "less", "score": score})
    return pd.DataFrame(rows)
