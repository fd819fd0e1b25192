"""Notes on how the models of a run were loaded, if this affects the interpretation of their results."""

from collections.abc import Iterable, Iterator

from tiltmeter.models.tensor_names import select_layer_modules
from tiltmeter.runs.manifest import ModelEntry

# The accuracy of a head that guesses, in percent.
_CHANCE = 50.0


def describe_models(entries: Iterable[ModelEntry]) -> list[str]:
    """Return the notes on models, from their entries in the manifest.

    >>> describe_models([ModelEntry(name="m", kind="causal", chat_template=True)])[0].partition(",")[0]
    'm is an instruct model'
    """
    return [note for entry in entries for note in _list_notes(entry)]


def _list_notes(entry: ModelEntry) -> Iterator[str]:
    name = entry.name
    if entry.chat_template is True and entry.kind == "causal":
        yield (
            f"{name} is an instruct model, measured as a plain language model. To ask it as a chat model, name it "
            "chat:MODEL. To score texts inside its chat template, add --chat-template."
        )
    if bits := (entry.quantized or {}).get("bits"):
        yield f"{name} was measured with weights quantised to {bits} bits; the original weights give other numbers."
    if (accuracy := (entry.head or {}).get("accuracy")) and accuracy[1] <= _CHANCE:
        yield (
            f"The next-sentence head of {name} is no better than guessing on held-out pairs ({accuracy[0]:.1f}% "
            "correct, and 50% is chance), so its results between sentences say nothing about bias; train it longer."
        )
    unused = [module for modules in (entry.unused_modules or {}).values() for module in modules]
    if inside := select_layer_modules(unused):
        yield (
            f"The checkpoint of {name} has {len(inside)} modules in its layers that do not fit its config, for example "
            f"{inside[0]}; the model was measured without these modules."
        )
    for kind, reasons in (entry.disabled or {}).items():
        listed = ", ".join(f"{speedup} ({reason})" for speedup, reason in reasons.items())
        yield f"{name} ({kind}) was measured without the speed-up {listed}; this is slower, but the scores are correct."
    if split := entry.split:
        yield f"{name} was split over {', '.join(split)}."
