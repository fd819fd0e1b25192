"""Tiltmeter's own starter sets."""

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
    """A starter set; `each` is the number of items in each language."""
    files = tuple(files)
    return Dataset(
        name=name,
        form=form,
        description=description,
        licence="Apache-2.0",
        citation="Tiltmeter",
        warning="The sentences play on mild stereotypes.",
        limits=("a smoke test, not a benchmark: too small, and written by too few, to say much about a model",),
        sources=tuple(Source(language, part, "jsonl", _STARTER / file) for language, part, file in files),
        parts=parts,
        items={language: each for language, _, _ in files},
    )


ENTRIES: tuple[Dataset, ...] = (
    _build_starter_dataset(
        "starter",
        "association",
        "Tiltmeter's own association items, to try things out with",
        ((language, part, f"{part}.{language}.jsonl") for language in ("en", "de", "fr", "es", "tr") for part in PARTS),
        PARTS,
        each=80,
    ),
    _build_starter_dataset(
        "starter-pairs",
        "pairs",
        "Tiltmeter's own sentence pairs, to try things out with",
        [("en", None, "pairs.en.jsonl"), ("de", None, "pairs.de.jsonl")],
        each=40,
    ),
    _build_starter_dataset(
        "starter-gest",
        "gest",
        "Tiltmeter's own first-person sentences, to try things out with",
        [("en", None, "gest.en.jsonl")],
        TEMPLATES,
        each=64,
    ),
    _build_starter_dataset(
        "starter-neutral",
        "gest",
        "Tiltmeter's own sentences about a person in languages without gender, to translate into English",
        [("tr", None, "neutral.tr.jsonl"), ("hu", None, "neutral.hu.jsonl")],
        each=48,
    ),
)
