"""The settings of a trained next-sentence head, which are stored in its `config.json`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from tiltmeter.errors import DataError, ModelError
from tiltmeter.models.checkpoint import CONFIG
from tiltmeter.questions import Kind
from tiltmeter.text_files import read_json

# The entry of config.json that contains the settings of the head.
KEY = "next_sentence_head"
# The file with the weights of the linear layers; an encoder-decoder generates labels and has no such file.
HEAD_FILE = "head.safetensors"

Design = Literal["recommended", "published"]
# The source of the head's decision: the mean of the last hidden states, or the label that an encoder-decoder generates.
Reading = Literal["mean", "label"]


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """The settings of a trained next-sentence head.

    `kind` is the kind of the base model, and `base_weights` is the hash of the base model's files. If `joined`, the two
    sentences are one text with `separator` between them; otherwise the tokenizer encodes them as a pair. `prefix` is
    put before the first sentence. `prefixes` maps languages to the prefixes that were used in training. `labels` are
    the token ids of the labels that an encoder-decoder generates, and `step` is the index of the decoding step at which
    a label is read (see `LabelHead`). `accuracy` is the accuracy on held-out pairs in percent, with its interval.
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
    accuracy: tuple[float, float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the settings as the entry `KEY` of config.json."""
        return asdict(self)

    @classmethod
    def from_json(cls, name: str, entry: Any) -> "HeadConfig":
        """Return the settings in the entry `KEY` of config.json; `name` is the model's name in error messages."""
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
                f"The entry {KEY} in the config of {name} cannot be read ({error}); train the head again, or install "
                "the version of Tiltmeter that its model card names."
            ) from error


def read_head(name: str, folder: Path) -> HeadConfig | None:
    """Return the settings of the trained head in a folder; None if the folder contains no trained head."""
    path = folder / CONFIG
    if not path.is_file():
        return None
    try:
        entry = read_json(path).get(KEY)
    except (DataError, AttributeError):
        return None  # an invalid config is reported when the model is opened
    return None if entry is None else HeadConfig.from_json(name, entry)
