"""Recipes for GEST's language models (Tables 9 to 11, on the scale of the tables) and counts of pairs (Table 7)."""

from collections import Counter
from collections.abc import Iterable

from tiltmeter.benchmarks.gender_log_ratios import PROTOCOL, ROLE
from tiltmeter.benchmarks.gendered_pairs import BENCHMARK as PAIRS
from tiltmeter.benchmarks.gest import list_parts
from tiltmeter.errors import ModelError
from tiltmeter.forms.gendered_pairs import find_rejection_reason
from tiltmeter.measures import gest
from tiltmeter.measures.gest import AS_PUBLISHED
from tiltmeter.measures.records import Record
from tiltmeter.papers.sources.paper_run import PaperRun
from tiltmeter.papers.sources.recipe import Key, NotAvailable, Numbers, Recipe, build_run_recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.runs.gest_pair_predictions import load_pairs, read_pair_ratios, select_scored_pairs
from tiltmeter.runs.gest_predictions import read_gest_predictions
from tiltmeter.runs.portions import Portion, load_portions
from tiltmeter.runs.score_tables import build_score_table

REPOSITORY = "kinit-sk/gest"
VARIANTS = "data/gender_variants.csv"
# The folder with the released scores of each table, and the templates in each table. Tables number templates from 1,
# files from 0. Causal models have only the last two templates.
FOLDERS = {"9": "english_mlm", "10": "english_glm"}
TEMPLATES = {"9": list_parts("masked"), "10": list_parts("causal")}


def get_prediction_path(table: str, hub: str, template: str) -> str:
    """Return the path of a model's scores for one template; `template` is its number in the table.

    >>> get_prediction_path("9", "google/electra-base-generator", "1")
    'data/predictions/english_mlm/electra-base-generator_template-0.txt'
    >>> get_prediction_path("10", "microsoft/phi-1_5", "2")
    'data/predictions/english_glm/phi-1_5_template-1.txt'
    """
    return f"data/predictions/{FOLDERS[table]}/{_get_short_name(hub)}_template-{int(template) - 1}.txt"


def get_pair_prediction_path(hub: str) -> str:
    """Return the path of a model's scores for the pairs of all languages.

    >>> get_pair_prediction_path("facebook/xlm-v-base")
    'data/predictions/slavic_mlm/xlm-v-base.txt'
    """
    return f"data/predictions/slavic_mlm/{_get_short_name(hub)}.txt"


def build_released_scores(table: str, hub: str, template: str) -> Recipe:
    """Return the recipe for a model's released scores with one template of Table 9 or 10."""
    path = get_prediction_path(table, hub, template)
    return Recipe(path, _measure_released_scores, (path, _get_part(table, template)))


def build_run(table: str, hub: str, template: str) -> Recipe:
    """Return the recipe for a run of a model on the English sentences with one template of Table 9 or 10."""
    part = _get_part(table, template)
    return build_run_recipe(PaperRun(hub, f"gest-1.0/{part}:en"), _measure_run, part)


def build_released_pairs(hub: str, language: str) -> Recipe:
    """Return the recipe for a model's released scores on the pairs of one language."""
    return Recipe(get_pair_prediction_path(hub), _measure_released_pairs, (hub, language))


def build_pairs_run(hub: str, language: str) -> Recipe:
    """Return the recipe for a run of a model on the pairs of one language."""
    return build_run_recipe(PaperRun(hub, f"gest-pairs:{language}"), _measure_run, "all")


def _measure_released_scores(context: RecipeContext, name: str, part: str) -> Numbers:
    path = context.fetch_file(REPOSITORY, name)
    (portion,) = load_portions(f"gest-1.0/{part}:en")
    return _collect_numbers(gest.measure(read_gest_predictions(path, [portion]).scores), part)


def _measure_run(context: RecipeContext, run: PaperRun, part: str) -> Numbers:
    return _collect_numbers(context.load_records(run), part)


def _measure_released_pairs(context: RecipeContext, hub: str, language: str) -> Numbers:
    """Return the measures of one language, from the pairs whose sentences differ in exactly one token of the model."""
    context.fetch_file(REPOSITORY, VARIANTS)
    path = context.fetch_file(REPOSITORY, get_pair_prediction_path(hub))
    pairs = context.compute_once(load_pairs)
    ratios = read_pair_ratios(path, pairs)
    try:
        kept, _ = select_scored_pairs(pairs, language, context.get_model_path(hub))
    except ModelError as error:
        raise NotAvailable(str(error)) from error
    portion = Portion("gest-pairs", PAIRS.form, "all", language, kept, {})
    rows = ((item, item.id, ROLE, ratios[int(item.id)]) for item in kept)
    return _collect_numbers(gest.measure(build_score_table(hub, portion, PROTOCOL, rows)), "all")


def count_pairs(context: RecipeContext) -> Numbers:
    """Return the number of pairs that the filters of GEST's authors accept, for each translation system and language.

    A pair that occurs twice is counted twice. This is an assumption: neither the paper nor the released code says how
    pairs were counted.
    """
    context.fetch_file(REPOSITORY, VARIANTS)
    counted = Counter(
        (item.translator or "", item.language)
        for item in context.compute_once(load_pairs)
        if find_rejection_reason(item.male, item.female) is None
    )
    return {("pairs", *key): float(count) for key, count in counted.items()}


def _collect_numbers(records: Iterable[Record], part: str) -> Numbers:
    """Return the numbers that the tables print: the rates q_i with intervals, and the mean rates of Table 3."""
    numbers: dict[Key, float] = {}
    for record in records:
        if record.view != AS_PUBLISHED or record.part != part:
            continue
        name = record.measure.removesuffix(f" {AS_PUBLISHED}")
        numbers[name, record.group, "value"] = record.value
        if record.low is not None and record.high is not None:
            numbers[name, record.group, "lower end"] = record.low
            numbers[name, record.group, "upper end"] = record.high
    return numbers


def _get_short_name(hub: str) -> str:
    return hub.rpartition("/")[2]


def _get_part(table: str, template: str) -> str:
    return TEMPLATES[table][int(template) - 1]
