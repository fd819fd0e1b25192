"""Checks for duplicates in a request: the same model twice, or benchmarks that share items."""

from collections.abc import Sequence
from pathlib import Path

from tiltmeter.datasets import parse_spec
from tiltmeter.errors import UsageError
from tiltmeter.models.model_protocol import Model
from tiltmeter.runs.portions import Portion
from tiltmeter.text_files import expand_home


def reject_same_names(names: Sequence[str]) -> None:
    """Raise a UsageError if two of the names refer to the same model, folder or file."""
    places: dict[str, str] = {}
    for name in names:
        place = _resolve_place(name)
        if places.get(place) == name:
            raise UsageError(
                f"Two models have the name {name}, so their results could not be distinguished; rename one of them."
            )
        if place in places:
            raise UsageError(f"{places[place]} and {name} are the same model; remove one of them.")
        places[place] = name


def reject_same_models(models: Sequence[Model]) -> None:
    """Raise a UsageError if two models have the same weights, tokenizer and settings.

    Two next-sentence heads of one base model are different models, and so are a base model and its head.
    """
    known: dict[tuple[str, ...], str] = {}
    for model in models:
        fingerprints = tuple(model.fingerprint(kind) for kind in model.kinds)
        if fingerprints in known:
            raise UsageError(
                f"{known[fingerprints]} and {model.name} are the same model, with identical files; remove one of them."
            )
        known[fingerprints] = model.name


def reject_shared_items(portions: Sequence[tuple[str, Portion]]) -> None:
    """Raise a UsageError if two requested benchmarks share items, which would then count twice."""
    seen: dict[tuple[str, ...], tuple[str, set[str]]] = {}
    for text, portion in portions:
        spec = parse_spec(text)
        name = portion.name if spec.path is None else str(spec.path.resolve())
        key = (name, portion.form, portion.part, portion.language)
        items = {item.id for item in portion.items}
        if key in seen and seen[key][0] == text:
            raise UsageError(f"{text} is given twice; give it only once.")
        if key in seen and (shared := seen[key][1] & items):
            raise UsageError(
                f"{seen[key][0]} and {text} share {len(shared):,} items, which would count twice; give one of the two."
            )
        seen[key] = (text, items)


def _resolve_place(name: str) -> str:
    path = expand_home(name)
    return str(Path(path).resolve()) if path.exists() else name
