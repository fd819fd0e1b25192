"""The tokens that end a reply of a local model; they are read from its generation config, config and tokenizer."""

from typing import Any

from tiltmeter.errors import DataError, ModelError
from tiltmeter.models.checkpoint_model import CheckpointModel
from tiltmeter.models.local_model import LocalModel
from tiltmeter.text_files import read_json

_FILE = "generation_config.json"
_FIELD = "eos_token_id"


def find_end_tokens(model: LocalModel) -> tuple[int, ...]:
    """Return the ids of all tokens that end a reply."""
    setting, place = _read_end_setting(model)
    listed = setting if isinstance(setting, list | tuple) else [setting]
    tokens = [token for token in (*listed, model.tokenizer.eos_token_id) if token is not None]
    if wrong := [token for token in tokens if not isinstance(token, int) or isinstance(token, bool)]:
        raise ModelError(f"{place} has {wrong[0]!r} as {_FIELD}, which is not a token id; write a number or a list.")
    if not tokens:
        raise ModelError(f"{model.name} has no token that ends a reply; add {_FIELD} to its {_FILE}.")
    return tuple(dict.fromkeys(tokens))


def _read_end_setting(model: LocalModel) -> tuple[Any, str]:
    """Return the end tokens in the generation config, or else in the config, and their source for error messages."""
    config = getattr(model.config.get_text_config(), _FIELD, None), f"The config of {model.name}"
    if not isinstance(model, CheckpointModel):
        loaded = getattr(getattr(model, "module", None), "generation_config", None)
        return config if loaded is None else (loaded.eos_token_id, f"The generation config of {model.name}")
    file = model.checkpoint.folder / _FILE
    # A GGUF file has no generation config; other files in its folder may belong to another model.
    if model.checkpoint.gguf or not file.is_file():
        return config
    try:
        values = read_json(file)
    except DataError as error:
        raise ModelError(f"The generation config of {model.name} cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise ModelError(f"{file} is not a JSON object with settings; delete it, or download it again.")
    return values.get(_FIELD), str(file)
