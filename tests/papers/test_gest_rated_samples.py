"""GEST's Table 4 from new translations: the samples that people rate, and the counts of their ratings."""

from pathlib import Path

import pandas as pd

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.making.rating.gender_sample import open_sample
from tiltmeter.papers.reproduction import recompute_numbers, select_numbers
from tiltmeter.papers.sources.gest_rated_samples import build_rated_samples
from tiltmeter.papers.sources.paper_run import PaperRun
from tiltmeter.papers.sources.recipe import NotAvailable
from tiltmeter.papers.sources.recipe_context import RecipeContext

RUNS = [PaperRun(system, f"gest-mt:{language}", edition="1.0") for language in ("sk", "cs") for system in ("a", "b")]
FORMS = {"sk": ("Bol som", "Bola som", "Mám dom"), "cs": ("Byl jsem", "Byla jsem", "Mám dům")}


class MadeContext(RecipeContext):
    """A context whose runs have fifteen translations of each outcome; system `b` shares five of them with `a`."""

    def load_scores(self, run: PaperRun) -> pd.DataFrame:
        first = 10 if run.model == "b" else 0
        forms = FORMS[run.on[-2:]]
        return pd.DataFrame({"translation": [f"{form} {n}." for form in forms for n in range(first, first + 15)]})


def rate_all(folder: Path, step: int) -> None:
    session = open_sample(folder)
    with session.store, session.store.begin_transaction():
        for unit in session.store.list_units():
            session.store.add_rating(unit, "gender", "Ana", step, "")


def test_samples_are_drawn_once_and_their_ratings_are_counted(tmp_path: Path) -> None:
    recipe = build_rated_samples(RUNS)
    with raises_mentioning(NotAvailable, "120 translations", f"tiltmeter make rate {tmp_path / 'sk'}"):
        MadeContext(samples=tmp_path).compute_numbers(recipe)
    rate_all(tmp_path / "sk", 1)
    with raises_mentioning(NotAvailable, "60 translations"):
        MadeContext(samples=tmp_path).compute_numbers(recipe)
    rate_all(tmp_path / "cs", 3)
    numbers = MadeContext(samples=tmp_path).compute_numbers(recipe)
    # Twenty translations of each outcome in each language: all of sk are rated as masculine, all of cs as neutral.
    expected = {"true M": 20.0, "true F": 0.0, "true N": 20.0}
    assert numbers == {(f"predicted {p}", true): count for p in "MFU" for true, count in expected.items()}


def test_the_table_needs_the_runs_of_all_systems() -> None:
    reproduction = recompute_numbers(select_numbers("gest2024", table="4"), RecipeContext(), from_models=True)
    assert all("no folder" in outcome.note for outcome in reproduction.outcomes)
    context = RecipeContext(samples=Path("samples"))
    outcome = recompute_numbers(select_numbers("gest2024", table="4"), context, from_models=True).outcomes[0]
    assert_mentions(outcome.note, "amazon on gest-mt:ru", "not run")
