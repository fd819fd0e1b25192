"""The recipe for GEST's Table 4 from new translations: samples for native speakers, and the counts of their ratings."""

from collections.abc import Sequence
from pathlib import Path

from tiltmeter.gender import find_speaker_gender
from tiltmeter.making.rating.gender_evaluation import evaluate_samples
from tiltmeter.making.rating.gender_sample import build_gender_units, count_outcomes, draw_sample, write_sample
from tiltmeter.making.rating.rating_plan import RATING_FILE
from tiltmeter.papers.sources.paper_run import PaperRun
from tiltmeter.papers.sources.recipe import NotAvailable, Numbers, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.reports.grouping import group_by

# The paper judged twenty translations of each outcome in each language, over all systems.
_PER_OUTCOME = 20
# The outcomes and the ratings, with their names in the table: masculine, feminine, unknown and neutral.
_PREDICTED = {"masculine": "predicted M", "feminine": "predicted F", "none": "predicted U"}
_TRUE = {"masculine": "true M", "feminine": "true F", "none": "true N"}
_STEP = (
    "native speakers rate twenty translations of each outcome in each language. The command draws these samples and "
    "names their folders; if they are rated, repeat the command."
)


def build_rated_samples(runs: Sequence[PaperRun]) -> Recipe:
    """Return the recipe for the ratings of samples of the translations of runs."""
    return Recipe("ratings of new translations", count_ratings, (tuple(runs),), tuple(runs), manual_step=_STEP)


def count_ratings(context: RecipeContext, runs: Sequence[PaperRun]) -> Numbers:
    """Return the rated translations by the outcome of the rules and by the rating; draw the samples that are missing.

    Raise NotAvailable if a run is missing, or if a translation of a sample is not rated.
    """
    if context.samples is None:
        raise NotAvailable("There is no folder for the samples of translations to rate.")
    by_language = group_by(runs, lambda run: run.on.rpartition(":")[2])
    texts = {
        language: [text for run in own for text in context.load_scores(run)["translation"].astype(str)]
        for language, own in by_language.items()
    }
    folders = [_draw_language(context.samples / language, language, found) for language, found in texts.items()]
    found = evaluate_samples(folders)
    if found.unrated:
        raise NotAvailable(
            f"{found.unrated:,} translations in {context.samples} are not rated. Native speakers rate each language "
            f"with `tiltmeter make rate {folders[0]} --by NAME`; if all are rated, repeat this command."
        )
    return {
        (_PREDICTED[outcome], _TRUE[rating]): float(found.counts[outcome, rating])
        for outcome in _PREDICTED
        for rating in _TRUE
    }


def _draw_language(folder: Path, language: str, texts: Sequence[str]) -> Path:
    """Write the sample of a language, if the folder has none yet, and return the folder."""
    if not (folder / RATING_FILE).exists():
        results = ((text, find_speaker_gender(text, language, explain=True)) for text in texts)
        units = build_gender_units(results, language)
        write_sample(folder, draw_sample(units, _PER_OUTCOME), "gender", count_outcomes(units))
    return folder
