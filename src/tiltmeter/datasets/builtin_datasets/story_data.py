"""Definitions of the prompts for stories, which are part of Tiltmeter."""

from pathlib import Path

from tiltmeter.datasets.dataset_definition import Dataset, Source

_FOLDER = Path(__file__).parent.parent / "stories"
_LANGUAGES = ("en", "cs", "de", "es", "fr", "it", "pl", "ru", "sk", "uk")
_UNCHECKED = "topics and instructions in other languages than English have not been checked by native speakers"


def _build_sources(name: str) -> tuple[Source, ...]:
    return tuple(Source(language, None, "jsonl", _FOLDER / f"{name}.{language}.jsonl") for language in _LANGUAGES)


ENTRIES: tuple[Dataset, ...] = (
    Dataset(
        name="story",
        form="story",
        description="48 topics of short stories (occupations, traits, and the sixteen stereotypes of GEST), each in "
        "two of sixteen places",
        licence="Apache-2.0",
        citation="Tiltmeter",
        warning="The topics are linked with mild gender stereotypes.",
        limits=(
            "gender is treated as binary; protagonists without a gender that rules can read count as missing",
            "which topics stereotypes link with which gender was decided by the authors of Tiltmeter",
            _UNCHECKED,
        ),
        sources=_build_sources("story"),
        items=dict.fromkeys(_LANGUAGES, 96),
        control=("story-control",),
    ),
    Dataset(
        name="story-control",
        form="story",
        description="16 everyday topics of short stories, each in two of sixteen places: a control",
        licence="Apache-2.0",
        citation="Tiltmeter",
        warning="The topics are neutral.",
        limits=("the control is smaller than the data set, so its interval is wider", _UNCHECKED),
        sources=_build_sources("control"),
        items=dict.fromkeys(_LANGUAGES, 32),
        why_control="the control has everyday topics whose side was assigned without a reason, so a gap there is not "
        "due to stereotypes",
    ),
)
