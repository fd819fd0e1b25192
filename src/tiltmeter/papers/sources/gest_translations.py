"""GEST's translation systems (Tables 6 and 8), from the released translations."""

from dataclasses import dataclass

from tiltmeter.papers.sources.gest_scores import REPOSITORY
from tiltmeter.papers.sources.recipe import Key, NotAvailable, Numbers
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.runs.translation_run import score_translations


def get_translation_path(system: str, language: str) -> str:
    """The path of the translations of one system into one language.

    >>> get_translation_path("nllb_3b", "be")
    'data/translations/nllb_3b/be/translations.csv'
    """
    return f"data/translations/{system}/{language}/translations.csv"


@dataclass(frozen=True, slots=True)
class ReleasedTranslations:
    """Released translations, with the gender of the speaker found by rules."""

    system: str
    language: str

    @property
    def name(self) -> str:
        """The file."""
        return get_translation_path(self.system, self.language)

    def numbers(self, desk: RecipeContext) -> Numbers:
        """p_i with its interval, p_m, p_f, p_fam, and the number of translations with a gender."""
        path = desk.fetch(REPOSITORY, self.name)
        result = score_translations(path, system=self.system, on=f"gest-mt:{self.language}", edition="1.0")
        if result.manifest["skipped"]:
            raise NotAvailable(f"{self.name} lacks {len(result.manifest['skipped'])} of GEST's sentences.")
        numbers: dict[Key, float] = {}
        for record in result.records:
            group = record.group if record.view == "stereotype" else "all"
            value = round(record.value * record.n) if record.measure == "yield" else record.value
            numbers[record.measure, group, "value"] = float(value)
            if record.low is not None and record.high is not None:
                numbers[record.measure, group, "lower end"] = record.low
                numbers[record.measure, group, "upper end"] = record.high
        return numbers
