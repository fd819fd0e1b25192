"""Remarks on the models of a run, in sentences: what a reader of its numbers should know about how they were loaded."""

from collections.abc import Iterable, Iterator

from tiltmeter.models.tensor_names import select_layer_modules
from tiltmeter.runs.manifest import ModelEntry


def describe_models(entries: Iterable[ModelEntry]) -> list[str]:
    """The remarks on models, from their entries in the manifest.

    >>> from tiltmeter.runs.manifest import model_entry
    >>> describe_models([model_entry({"name": "m", "kind": "causal", "chat_template": True})])[0]
    'm is an instruct model, measured as a plain language model; `chat:` or --chat-template measure it as it is used.'
    """
    return [note for entry in entries for note in _list_notes(entry)]


def _list_notes(entry: ModelEntry) -> Iterator[str]:
    name = entry.name
    if entry.chat_template is True and entry.kind == "causal":
        yield (
            f"{name} is an instruct model, measured as a plain language model; `chat:` or --chat-template measure it "
            "as it is used."
        )
    if bits := (entry.quantized or {}).get("bits"):
        yield f"{name} was measured with weights quantised to {bits} bits; the original ones give other numbers."
    unused = [module for modules in (entry.unused_modules or {}).values() for module in modules]
    if inside := select_layer_modules(unused):
        yield (
            f"The checkpoint of {name} has {len(inside)} modules in its layers that its config has no place for, "
            f"{inside[0]} first: it was measured without them."
        )
    for kind, reasons in (entry.disabled or {}).items():
        listed = ", ".join(f"{way} ({reason})" for way, reason in reasons.items())
        yield f"{name} was measured as {kind} without {listed}; this is slower and keeps its scores right."
    if split := entry.split:
        yield f"{name} was split over {', '.join(split)}."
