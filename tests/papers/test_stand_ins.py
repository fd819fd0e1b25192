"""The whole plan of each founding document, with tiny models in place of all named models and few items."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.messages import assert_mentions
from tests.training.made_articles import made, write_html
from tiltmeter.cluster.matrix import run_matrix
from tiltmeter.cluster.model_job import JobOutcome, run_job
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.papers.model_runs.run_choices import RunChoices
from tiltmeter.papers.model_runs.run_plan import RunPlan, plan_runs
from tiltmeter.papers.printed_numbers import PrintedNumber
from tiltmeter.papers.reproduction import ReproducedNumber, ReproductionStatus, recompute_numbers, select_numbers
from tiltmeter.papers.sources import gest_tables, gest_translations, oeztuerk, steinborn
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.runs.translation.translation_tasks import load_target

LIMIT = 2
# The kind of model that gives the predictions of a table, by the name of its method or by the table of GEST.
KINDS = {"Bert": "bert-tiny", "GPT2": "gpt2-tiny", "T5": "t5-tiny", "mT5": "t5-tiny"}
GEST = {"9": "bert-tiny", "10": "gpt2-tiny", "11": "bert-tiny"}


class InProcess:
    """An engine that runs the jobs in this process, one after the other."""

    continues_after_exit = False

    def __init__(self) -> None:
        self.ended: list[tuple[ModelCells, JobOutcome]] = []

    def start_jobs(self, entries: Sequence[ModelCells]) -> None:
        self.ended = [(entry, run_job(entry.folder)) for entry in entries]

    def is_started(self, _entry: ModelCells) -> bool:
        return False

    def take_ended_jobs(self) -> Iterable[tuple[ModelCells, JobOutcome]]:
        ended, self.ended = self.ended, []
        return ended

    def stop_jobs(self) -> None:
        self.ended = []


def list_stand_ins(fixtures: Path) -> Iterator[tuple[str, str]]:
    """Yield each hub id with the folder of the tiny model of the same kind."""
    for row in oeztuerk.load_rows().values():
        method = row.intrasentence if row.intrasentence.endswith("LM") else row.intersentence
        yield row.hub, str(fixtures / KINDS[method.removesuffix("LM")])
    for hub in steinborn.MODELS.values():
        yield hub, str(fixtures / "bert-tiny")
    for (table, _), name in gest_tables.load_names().items():
        if table in GEST:
            yield name, str(fixtures / GEST[table])


def run_plan(numbers: Sequence[PrintedNumber], choices: RunChoices, out: Path) -> tuple[RunPlan, RecipeContext]:
    plan = plan_runs(numbers, choices, out)
    result = run_matrix(plan.matrix, InProcess()) if plan.matrix.models else None
    return plan, RecipeContext(choices.model_paths, runs=plan.collect_runs(result), samples=out / "samples")


@pytest.fixture(scope="module")
def heads(mirror: Path, fixtures_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The heads of T5 and GPT-2, trained as part of the plan of a table."""
    folder = tmp_path_factory.mktemp("heads")
    articles = {"en": str(write_html(folder / "en", made("en", 12)))}
    choices = RunChoices(model_paths=dict(list_stand_ins(fixtures_dir)), articles=articles, device="cpu", limit=LIMIT)
    numbers = [n for n in select_numbers("oeztuerk2022", table="4.2") if n.cell["model"] in ("T5 NSP", "GPT-2 NSP")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILTMETER_MIRROR", str(mirror))
        _, context = run_plan(numbers, choices, folder / "out")
    outcomes = recompute_numbers(numbers, context, from_models=True).outcomes
    assert [outcome.note for outcome in outcomes if outcome.ours is None] == []
    assert len(list(folder.glob("out/pairs/en/*.parquet"))) == 2
    return {hub: str(folder / "out" / "heads" / hub) for hub in ("t5-base", "gpt2")}


@pytest.fixture
def choices(
    heads: dict[str, str], mirror: Path, fixtures_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> RunChoices:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    models = dict(list_stand_ins(fixtures_dir))
    of_kind = {str(fixtures_dir / "t5-tiny"): heads["t5-base"], str(fixtures_dir / "gpt2-tiny"): heads["gpt2"]}
    path = tmp_path / "translations.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        texts = load_target("gest-mt:sk", "1.0").list_texts()
        csv.writer(file).writerows(
            [("from", "to"), *((text, f"Bol{'a' * (n % 2)} som.") for n, text in enumerate(texts))]
        )
    return RunChoices(
        model_paths=models | dict.fromkeys(gest_translations.SYSTEMS.values(), f"file:{path}"),
        head_paths={hub: of_kind[model] for hub, model in models.items() if model in of_kind},
        device="cpu",
        limit=LIMIT,
    )


def list_absent_tables(outcomes: Sequence[ReproducedNumber]) -> set[str]:
    """Return the tables of which no number was recomputed."""
    tables = {outcome.printed.table for outcome in outcomes}
    return tables - {outcome.printed.table for outcome in outcomes if outcome.ours is not None}


def test_stereoset(choices: RunChoices, tmp_path: Path) -> None:
    # The runs in further languages differ only in their items; the thesis has English and German.
    numbers = [n for n in select_numbers("oeztuerk2023") if n.cell.get("language") in ("en", None)]
    numbers += select_numbers("oeztuerk2022")
    plan, context = run_plan(numbers, choices, tmp_path / "out")
    assert plan.missing == {}
    outcomes = recompute_numbers(numbers, context, from_models=True).outcomes
    assert [outcome.note for outcome in outcomes if outcome.ours is None] == []
    noted = [outcome for outcome in outcomes if outcome.status is ReproductionStatus.DIFFERS and outcome.note]
    assert all("the weights were loaded from" in outcome.note for outcome in noted)
    assert len(noted) > 50


def test_pairs(choices: RunChoices, tmp_path: Path) -> None:
    numbers = select_numbers("steinborn2022")
    plan, context = run_plan(numbers, choices, tmp_path / "out")
    assert plan.missing == {}
    outcomes = recompute_numbers(numbers, context, from_models=True).outcomes
    # Two pairs are too few for standard errors; Thai words were counted by a program that is not supported.
    absent = {outcome.printed.table for outcome in outcomes if outcome.ours is None and outcome.printed.kind == "value"}
    assert absent <= {"1"}
    assert list_absent_tables(outcomes) == set()


def test_gest(choices: RunChoices, tmp_path: Path) -> None:
    numbers = select_numbers("gest2024")
    plan, context = run_plan(numbers, choices, tmp_path / "out")
    assert plan.missing == {}
    outcomes = recompute_numbers(numbers, context, from_models=True).outcomes
    notes = {outcome.printed.table: outcome.note for outcome in outcomes if outcome.ours is None}
    # Table 4 needs raters. Tables 7 and 11 need a file of pairs that the mirror may lack.
    assert list_absent_tables(outcomes) - {"7", "11"} == {"4"}
    assert_mentions(notes["4"], "not rated", "tiltmeter make rate", str(tmp_path / "out" / "samples"))
    for table in list_absent_tables(outcomes) & {"7", "11"}:
        assert "gender_variants.csv" in notes[table]


@pytest.mark.parametrize("paper", ["oeztuerk2023", "oeztuerk2022", "steinborn2022", "gest2024"])
def test_each_model_has_a_stand_in(paper: str, fixtures_dir: Path, tmp_path: Path) -> None:
    models = dict(list_stand_ins(fixtures_dir))
    named = plan_runs(select_numbers(paper), RunChoices(), tmp_path)
    runs = [*named.cells, *named.missing]
    assert {run.model for run in runs} <= models.keys() | set(gest_translations.SYSTEMS.values())
    assert len({entry.folder for entry in named.matrix.models}) == len({run.model for run in named.cells})
