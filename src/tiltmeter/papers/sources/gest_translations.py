"""Recipes for GEST's translation systems (Tables 6 and 8), from the released translations."""

from collections.abc import Iterable

from tiltmeter.measures.records import Record
from tiltmeter.papers.sources.gest_scores import REPOSITORY
from tiltmeter.papers.sources.paper_run import PaperRun
from tiltmeter.papers.sources.recipe import Key, NotAvailable, Numbers, Recipe, build_run_recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.runs.translation_run import score_translations

# Maps a folder of the paper's translations to its translation system, named as in the option `--translator`.
SYSTEMS = {
    "amazon_translate": "amazon",
    "deepl": "deepl",
    "google_translate": "google",
    "nllb_3b": "nllb:facebook/nllb-200-3.3B",
}
_EDITION = "1.0"


def get_translation_path(system: str, language: str) -> str:
    """Return the path of the translations of one system into one language.

    >>> get_translation_path("nllb_3b", "be")
    'data/translations/nllb_3b/be/translations.csv'
    """
    return f"data/translations/{system}/{language}/translations.csv"


def build_recipe(system: str, language: str) -> Recipe:
    """Return the recipe for the numbers of one translation system and language."""
    return Recipe(get_translation_path(system, language), measure_translations, (system, language))


def measure_translations(context: RecipeContext, system: str, language: str) -> Numbers:
    """Return the rates p_i with intervals, the rates p_m, p_f and p_fam, and the number of translations with a gender.

    The gender of the speaker is detected by rules.
    """
    name = get_translation_path(system, language)
    path = context.fetch_file(REPOSITORY, name)
    # The printed intervals count translations of one English original as independent.
    result = score_translations(path, system=system, on=f"gest-mt:{language}", edition=_EDITION, fixed=["ideas"])
    if result.manifest.skipped:
        raise NotAvailable(f"{name} lacks {len(result.manifest.skipped)} of GEST's sentences.")
    return _collect_numbers(result.records)


def build_translation_run(system: str, language: str) -> Recipe:
    """Return the recipe for a new run of one translation system into one language."""
    run = PaperRun(SYSTEMS[system], f"gest-mt:{language}", edition=_EDITION)
    return build_run_recipe(run, _measure_run)


def _measure_run(context: RecipeContext, run: PaperRun) -> Numbers:
    return _collect_numbers(context.load_records(run))


def _collect_numbers(records: Iterable[Record]) -> Numbers:
    numbers: dict[Key, float] = {}
    for record in records:
        group = record.group if record.view == "stereotype" else "all"
        value = round(record.value * record.n) if record.measure == "yield" else record.value
        numbers[record.measure, group, "value"] = float(value)
        if record.low is not None and record.high is not None:
            numbers[record.measure, group, "lower end"] = record.low
            numbers[record.measure, group, "upper end"] = record.high
    return numbers
