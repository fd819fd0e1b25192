"""The page of experiments has a row for each table of the founding documents, with its commands and status."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.papers.figures.paper_figures import FIGURES
from tiltmeter.papers.printed_numbers import find_paper
from tiltmeter.papers.reproduction import select_numbers
from tiltmeter.papers.sources.gest_translations import SYSTEMS
from tiltmeter.papers.sources.paper_run import PaperRun
from tiltmeter.papers.sources.recipe import NumberSource
from tiltmeter.papers.sources.source_lookup import find_source
from tiltmeter.reports.formatting import format_count
from tiltmeter.translators import validate_system_name

DOCS = Path(__file__).parents[2] / "docs" / "evidence"
PAPERS = ("oeztuerk2023", "oeztuerk2022", "steinborn2022", "gest2024")
STATUSES = ("agree", "known reason", "tolerance", "unexplained", "not available")


# What repeats an experiment that no run of a model repeats.
OTHERS = {
    ("gest2024", "5"): "new pairs need judges: `gender sample --pairs`, then as for Table 4",
    (
        "gest2024",
        "7",
    ): "needs `data/gender_variants.csv` of GEST; new pairs: `make new gest --to sk --with deepl "
    "--pairs --out my-sk` for each system and language",
}


def read_statuses() -> dict[tuple[str, str], Counter[str]]:
    """Return the counts of the page of the reproduction by paper and table."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    # The last column counts numbers that are not printed.
    counts_of_row = r"[\d,]+ \| ((?:[\d,]+ \| ){4}[\d,]+) \| [\w ]+"
    rows = re.findall(rf"^\| (\w+) \| (.+?) \| [a-z ]+ \| {counts_of_row} \|$", page, re.MULTILINE)
    for paper, table, cells in rows:
        values = (int(cell.replace(",", "")) for cell in cells.split(" | "))
        counts[paper, table].update(dict(zip(STATUSES, values, strict=True)))
    return counts


def list_needs(runs: set[PaperRun]) -> Iterator[str]:
    if heads := {run.model for run in runs if run.head}:
        yield f"next-sentence heads of {len(heads)} models (`--head-path` or `--articles`)"
    if any(run.model in SYSTEMS.values() and not validate_system_name(run.model).is_local for run in runs):
        yield "paid translation services (`--yes`)"
    if any(run.on.startswith("gest-pairs") for run in runs):
        yield "`data/gender_variants.csv` of GEST"


def is_rated(sources: Sequence[NumberSource]) -> bool:
    return any(source.recipe and source.recipe.manual_step for source in sources)


def build_row(paper: str, table: str) -> str:
    numbers = select_numbers(paper, table=table)
    sources = [find_source(number, from_models=True) for number in numbers]
    runs = {run for source in sources if source.recipe for run in source.recipe.runs}
    option = f"--table '{table}'" if " " in table else f"--table {table}"
    command = f"`reproduce {paper} {option}`"
    status = ", ".join(f"{count:,} {name}" for name, count in read_statuses()[paper, table].items() if count)
    if runs:
        models = len({run.model for run in runs})
        model_status = f"`--from-models`: {format_count(len(runs), 'run')} of {format_count(models, 'model')}"
        if needs := [*list_needs(runs), *(["native speakers who rate samples"] if is_rated(sources) else [])]:
            model_status += f"; needs {', '.join(needs)}"
    else:
        model_status = OTHERS.get((paper, table)) or next(
            (source.lacking for source in sources if source.recipe is None), "no model is involved"
        )
    caption = find_paper(paper).captions[table]
    return f"| {paper} | {table} | {caption} | {command} | {status} | {model_status} |".replace("`tiltmeter ", "`")


def test_every_table_has_its_row() -> None:
    page = (DOCS / "experiments.md").read_text(encoding="utf-8")
    rows = [build_row(paper, table) for paper in PAPERS for table in find_paper(paper).captions]
    expected = "\n".join(rows)
    assert expected in page, f"replace the table of {DOCS / 'experiments.md'} by:\n{expected}"


def test_every_figure_has_its_row() -> None:
    page = (DOCS / "experiments.md").read_text(encoding="utf-8")
    for paper in FIGURES:
        for figure in FIGURES[paper]:
            assert f"`reproduce {paper} --figure {figure}" in page
