"""The tokens that end a reply of a local model, by its generation config, its config and its tokenizer."""

from typing import Any

from tiltmeter.errors import DataError, ModelError
from tiltmeter.models.checkpoint_model import CheckpointModel
from tiltmeter.models.local_model import LocalModel
from tiltmeter.text_files import read_json

_FILE = "generation_config.json"
_FIELD = "eos_token_id"


def find_end_tokens(model: LocalModel) -> tuple[int, ...]:
    """The ids of all tokens that end a reply; of the generation config, nothing else is used."""
    named, place = _read_end_setting(model)
    listed = named if isinstance(named, list | tuple) else [named]
    found = [token for token in (*listed, model.tokenizer.eos_token_id) if token is not None]
    if wrong := [token for token in found if not isinstance(token, int) or isinstance(token, bool)]:
        raise ModelError(f"{place} names {wrong[0]!r} as {_FIELD}, which is no token id; write a number or a list.")
    if not found:
        raise ModelError(
            f"{model.name} names no token that ends an answer, so it cannot be asked as a chat model; add {_FIELD} to "
            f"its {_FILE}."
        )
    return tuple(dict.fromkeys(found))


def _read_end_setting(model: LocalModel) -> tuple[Any, str]:
    """What the generation config says, or the config of a model without one; and where."""
    config = getattr(model.config.get_text_config(), _FIELD, None), f"The config of {model.name}"
    if not isinstance(model, CheckpointModel):
        loaded = getattr(getattr(model, "module", None), "generation_config", None)
        return config if loaded is None else (loaded.eos_token_id, f"The generation config of {model.name}")
    file = model.checkpoint.folder / _FILE
    # What lies beside a GGUF file may belong to another model.
    if model.checkpoint.gguf or not file.is_file():
        return config
    try:
        values = read_json(file)
    except DataError as error:
        raise ModelError(f"The generation config of {model.name} cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise ModelError(f"{file} holds no settings by name; delete it, or fetch it again.")
    return values.get(_FIELD), str(file)
