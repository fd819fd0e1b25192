"""Remarks on the models of a run, in sentences: what a reader of its numbers should know about how they were loaded."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tiltmeter.models.tensor_names import select_layer_modules


def describe_models(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """The remarks on models, from their entries in the manifest.

    >>> describe_models([{"name": "m", "kind": "causal", "chat_template": True}])[0]
    'm is an instruct model, measured as a plain language model; `chat:` or --chat-template measure it as it is used.'
    """
    return [note for entry in entries for note in _list_notes(entry)]


def _list_notes(entry: Mapping[str, Any]) -> Iterator[str]:
    name = entry["name"]
    if entry.get("chat_template") is True and entry.get("kind") == "causal":
        yield (
            f"{name} is an instruct model, measured as a plain language model; `chat:` or --chat-template measure it "
            "as it is used."
        )
    if bits := (entry.get("quantized") or {}).get("bits"):
        yield f"{name} was measured with weights quantised to {bits} bits; the original ones give other numbers."
    unused = [module for modules in entry.get("unused_modules", {}).values() for module in modules]
    if inside := select_layer_modules(unused):
        yield (
            f"The checkpoint of {name} has {len(inside)} modules in its layers that its config has no place for, "
            f"{inside[0]} first: it was measured without them."
        )
    for kind, reasons in entry.get("disabled", {}).items():
        listed = ", ".join(f"{way} ({reason})" for way, reason in reasons.items())
        yield f"{name} was measured as {kind} without {listed}; this is slower and keeps its scores right."
    if split := entry.get("split"):
        yield f"{name} was split over {', '.join(split)}."
