"""GEST's language models (Tables 9 to 11), on the scale of the tables, and the counts of pairs (Table 7)."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tiltmeter.benchmarks.gender_log_ratios import PROTOCOL, ROLE, find_differing_positions
from tiltmeter.benchmarks.gendered_pairs import BENCHMARK as PAIRS
from tiltmeter.benchmarks.gest import list_parts
from tiltmeter.errors import DataError
from tiltmeter.forms.gendered_pairs import GenderedPairItem, find_rejection_reason
from tiltmeter.measures import gest
from tiltmeter.measures.gest import AS_PUBLISHED
from tiltmeter.measures.records import Record
from tiltmeter.papers.sources.recipe import Key, NotAvailable, Numbers
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.runs.gest_predictions import read_gest_predictions
from tiltmeter.runs.portions import Portion, load_portions
from tiltmeter.runs.score_tables import build_score_table

REPOSITORY = "kinit-sk/gest"
VARIANTS = "data/gender_variants.csv"
# The tables number their templates from 1, the files from 0; causal models have the last two templates only.
FOLDERS = {"9": "english_mlm", "10": "english_glm"}
TEMPLATES = {"9": list_parts("masked"), "10": list_parts("causal")}


def get_prediction_path(table: str, hub: str, template: str) -> str:
    """The path of the scores of a model for one template, numbered as in the table.

    >>> get_prediction_path("9", "google/electra-base-generator", "1")
    'data/predictions/english_mlm/electra-base-generator_template-0.txt'
    >>> get_prediction_path("10", "microsoft/phi-1_5", "2")
    'data/predictions/english_glm/phi-1_5_template-1.txt'
    """
    return f"data/predictions/{FOLDERS[table]}/{_get_short_name(hub)}_template-{int(template) - 1}.txt"


def get_pair_prediction_path(hub: str) -> str:
    """The path of the scores of a model for the pairs of all languages.

    >>> get_pair_prediction_path("facebook/xlm-v-base")
    'data/predictions/slavic_mlm/xlm-v-base.txt'
    """
    return f"data/predictions/slavic_mlm/{_get_short_name(hub)}.txt"


@dataclass(frozen=True, slots=True)
class ReleasedGestScores:
    """The released scores of a model for one template of Table 9 or 10."""

    table: str
    hub: str
    template: str

    @property
    def name(self) -> str:
        """The file."""
        return get_prediction_path(self.table, self.hub, self.template)

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The measures of the scores."""
        path = desk.fetch(REPOSITORY, self.name)
        part = TEMPLATES[self.table][int(self.template) - 1]
        (portion,) = load_portions(f"gest-1.0/{part}:en")
        return _collect_numbers(gest.measure(read_gest_predictions(path, [portion]).scores), part)


@dataclass(frozen=True, slots=True)
class GestRun:
    """A run of a model on the English sentences with one template of Table 9 or 10."""

    table: str
    hub: str
    template: str

    @property
    def part(self) -> str:
        """The name of the template."""
        return TEMPLATES[self.table][int(self.template) - 1]

    @property
    def name(self) -> str:
        """The model and its benchmark."""
        return f"{self.hub} on gest-1.0/{self.part}:en"

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The measures of the run."""
        return _collect_numbers(desk.run(desk.model(self.hub), f"gest-1.0/{self.part}:en"), self.part)


@dataclass(frozen=True, slots=True)
class ReleasedGestPairs:
    """The released scores of a model for the pairs of one language that differ in one token of its tokenizer."""

    hub: str
    language: str

    @property
    def name(self) -> str:
        """The file."""
        return get_pair_prediction_path(self.hub)

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The measures of the scores."""
        desk.fetch(REPOSITORY, VARIANTS)
        path = desk.fetch(REPOSITORY, self.name)
        # As in the files for English: the log10 of a ratio on each line, one for each pair.
        ratios = [math.log(10) * float(line) for line in path.read_text(encoding="utf-8").split()]
        pairs = desk.compute_once(_load_pairs)
        if max((int(item.id) for item in pairs), default=-1) >= len(ratios):
            raise DataError(f"{path} has {len(ratios)} lines, fewer than {VARIANTS} has pairs; fetch both again.")
        kept = [
            item
            for item in _drop_duplicates(pairs)
            if item.language == self.language and find_rejection_reason(item.male, item.female) is None
        ]
        kept = _select_one_token_pairs(kept, desk.model(self.hub))
        portion = Portion("gest-pairs", PAIRS.form, "all", self.language, kept, {})
        rows = ((item, item.id, ROLE, ratios[int(item.id)]) for item in kept)
        return _collect_numbers(gest.measure(build_score_table(self.hub, portion, PROTOCOL, rows)), "all")


@dataclass(frozen=True, slots=True)
class GestPairsRun:
    """A run of a model on the pairs of one language."""

    hub: str
    language: str

    @property
    def name(self) -> str:
        """The model and its benchmark."""
        return f"{self.hub} on gest-pairs:{self.language}"

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The measures of the run."""
        return _collect_numbers(desk.run(desk.model(self.hub), f"gest-pairs:{self.language}"), "all")


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The number of pairs by translation system and language: those whose two words have a common beginning.

    Repeated pairs are counted, which is our reading: neither the paper nor the released code says.
    """

    @property
    def name(self) -> str:
        """The file."""
        return VARIANTS

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The number of pairs by system and language."""
        desk.fetch(REPOSITORY, VARIANTS)
        counted = Counter(
            (item.translator or "", item.language)
            for item in desk.compute_once(_load_pairs)
            if find_rejection_reason(item.male, item.female) is None
        )
        return {("pairs", *key): float(count) for key, count in counted.items()}


def _collect_numbers(records: Iterable[Record], part: str) -> Numbers:
    """The numbers in the tables: q_i with its interval, and the rates of Table 3."""
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


def _load_pairs() -> list[GenderedPairItem]:
    """The pairs of all languages, in the order of the file."""
    items = [
        item for portion in load_portions("gest-pairs") for item in portion.items if isinstance(item, GenderedPairItem)
    ]
    return sorted(items, key=lambda item: int(item.id))


def _drop_duplicates(items: Iterable[GenderedPairItem]) -> list[GenderedPairItem]:
    """The pairs without repetitions, in all languages together, as in the released code."""
    return list({(item.male, item.female): item for item in reversed(list(items))}.values())[::-1]


def _select_one_token_pairs(items: list[GenderedPairItem], model: str) -> list[GenderedPairItem]:
    from transformers import AutoTokenizer

    from tiltmeter.models.hub_access import build_access_hint

    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        reason = build_access_hint(error, model) or first
        raise NotAvailable(
            f"Which pairs count depends on the tokenizer of {model}, which cannot be loaded: {reason}"
        ) from error
    male, female = (
        tokenizer([getattr(item, side) for item in items], add_special_tokens=False)["input_ids"]
        for side in ("male", "female")
    )
    return [
        item
        for item, male_ids, female_ids in zip(items, male, female, strict=True)
        if len(male_ids) == len(female_ids) and len(find_differing_positions(male_ids, female_ids)) == 1
    ]


def _get_short_name(hub: str) -> str:
    return hub.rpartition("/")[2]
