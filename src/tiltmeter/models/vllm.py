"""The scheme `vllm:`: `vllm:FOLDER_OR_ID` is a chat model that vLLM, an optional package, runs in this process."""

from tiltmeter.errors import UsageError
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.models.scheme import Scheme
from tiltmeter.options import ModelOptions

# Options of models in transformers that vLLM does not support in this way.
_UNSUPPORTED = ("quantize", "split", "max_memory", "devices", "plain", "batch_tokens", "tokenizer")


def _open(rest: str, options: ModelOptions) -> ChatModel:
    """Open the chat model `vllm:REST`; the weights are loaded when the first message is asked."""
    if not rest:
        raise UsageError("vllm: needs the name of a model; write vllm:FOLDER or vllm:HUB_ID.")
    if given := [name for name in _UNSUPPORTED if getattr(options, name)]:
        option = f"--{given[0].replace('_', '-')}"
        raise UsageError(f"vllm:{rest} does not support {option}; omit it, or write chat:{rest}.")
    try:
        import vllm  # noqa: F401 - a missing package is reported before the files are read
    except ImportError as error:
        raise UsageError(
            f"vllm:{rest} needs the package vLLM ({error}); install it with pip install 'tiltmeter[vllm]'."
        ) from error
    from tiltmeter.models.vllm_chat import open_vllm_chat

    return open_vllm_chat(rest, options)


SCHEME = Scheme(open=_open, is_chat=True, locate=lambda _rest: "named")
