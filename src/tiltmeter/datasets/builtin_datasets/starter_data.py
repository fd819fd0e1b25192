"""Definitions of the starter sets: small data sets that are part of Tiltmeter."""

from collections.abc import Iterable
from pathlib import Path

from tiltmeter.datasets.dataset_definition import Dataset, Source
from tiltmeter.forms.association import PARTS
from tiltmeter.forms.gest import TEMPLATES

_STARTER = Path(__file__).parent.parent / "starter"


def _build_starter_dataset(
    name: str,
    form: str,
    description: str,
    files: Iterable[tuple[str, str | None, str]],
    parts: tuple[str, ...] = (),
    *,
    each: int,
) -> Dataset:
    """Build a starter set; `each` is the number of items per language."""
    files = tuple(files)
    return Dataset(
        name=name,
        form=form,
        description=description,
        licence="Apache-2.0",
        citation="Tiltmeter",
        warning="The sentences contain mild stereotypes.",
        limits=(
            "a smoke test, not a benchmark: too small, and written by too few people, for conclusions about a model",
        ),
        sources=tuple(Source(language, part, "jsonl", _STARTER / file) for language, part, file in files),
        parts=parts,
        items={language: each for language, _, _ in files},
    )


ENTRIES: tuple[Dataset, ...] = (
    _build_starter_dataset(
        "starter",
        "association",
        "association items of Tiltmeter, for first tests",
        ((language, part, f"{part}.{language}.jsonl") for language in ("en", "de", "fr", "es", "tr") for part in PARTS),
        PARTS,
        each=80,
    ),
    _build_starter_dataset(
        "starter-pairs",
        "pairs",
        "sentence pairs of Tiltmeter, for first tests",
        [("en", None, "pairs.en.jsonl"), ("de", None, "pairs.de.jsonl")],
        each=40,
    ),
    _build_starter_dataset(
        "starter-gest",
        "gest",
        "first-person sentences of Tiltmeter, for first tests",
        [("en", None, "gest.en.jsonl")],
        TEMPLATES,
        each=64,
    ),
    _build_starter_dataset(
        "starter-neutral",
        "gest",
        "sentences of Tiltmeter about a person in languages without gender, for translation into English",
        [("tr", None, "neutral.tr.jsonl"), ("hu", None, "neutral.hu.jsonl")],
        each=48,
    ),
)
