"""What a folder with a trained next-sentence head says of it, in its `config.json`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from tiltmeter.errors import DataError, ModelError
from tiltmeter.models.checkpoint import CONFIG
from tiltmeter.questions import Kind
from tiltmeter.text_files import read_json

# The entry of config.json that says that a model has a trained head.
KEY = "next_sentence_head"
# The tensors of the linear layers; an encoder-decoder answers by labels and has none.
HEAD_FILE = "head.safetensors"

Design = Literal["recommended", "published"]
# How the head reads the model: the mean of the last hidden states, or the label that an encoder-decoder writes.
Reading = Literal["mean", "label"]


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """A trained next-sentence head.

    `kind` is the base model's kind of language model; `base_weights` is the hash of its files, which the model that
    answers within sentences must have. `joined`: the two sentences are one text, with `separator` between them;
    otherwise they are a pair of the tokenizer. `prefix` stands before the first sentence; `prefixes` are those of
    training, by language. `step` is the decoding step at which a label is read (see `LabelHead`).
    """

    design: Design
    reading: Reading
    kind: Kind
    base: str
    base_weights: str
    base_revision: str | None = None
    adapter: bool = False
    joined: bool = True
    separator: str = " "
    max_length: int = 256
    layers: tuple[int, ...] = (300, 300)
    activations: bool = True
    prefix: str = ""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[int, int] = (0, 0)
    step: int = 0
    languages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The entry of config.json."""
        return asdict(self)

    @classmethod
    def from_json(cls, name: str, entry: Any) -> "HeadConfig":
        """Read the entry; `name` is the model's, for errors."""
        known = {f.name for f in fields(cls)}
        try:
            unknown = sorted(set(entry) - known)
            if unknown:
                raise ValueError(f"unknown fields {', '.join(unknown)}")
            for key, allowed in (("design", get_args(Design)), ("reading", get_args(Reading))):
                if entry[key] not in allowed:
                    raise ValueError(f"{key} is {entry[key]!r}, not {' or '.join(allowed)}")
            values: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
            }
            return cls(**values)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(
                f"The entry {KEY} in the config of {name} cannot be read ({error}); it was written by another version "
                "of Tiltmeter, or changed: train the head again, or install the version that its card names."
            ) from error


def read_head(name: str, folder: Path) -> HeadConfig | None:
    """The head of a model in a folder; None if it has none that Tiltmeter trained."""
    path = folder / CONFIG
    if not path.is_file():
        return None
    try:
        entry = read_json(path).get(KEY)
    except (DataError, AttributeError):
        return None  # opening the model says what is wrong with its config
    return None if entry is None else HeadConfig.from_json(name, entry)
