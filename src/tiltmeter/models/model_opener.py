"""From what a run is given for a model (a name, a path, a loaded model, an object) to a `Model`."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tiltmeter.engine.speedups import ALL
from tiltmeter.errors import ModelError, TiltmeterError, UsageError
from tiltmeter.models.model_protocol import ChatModel, Model, ModelOptions
from tiltmeter.redaction import redact_model_name
from tiltmeter.registry import find_plugins

# A name or path, a loaded transformers model with its tokenizer, or an object that implements one of the protocols.
ModelInput = str | os.PathLike[str] | tuple[Any, Any] | Model | ChatModel
AnyModel = Model | ChatModel

# The function of a module of this folder that opens names of its scheme; it takes the part after `scheme:`.
_OPENER = "open_scheme"


def to_model_list(given: ModelInput | Iterable[ModelInput], options: ModelOptions) -> list[str | AnyModel]:
    """One model or several as a list: names, which the run opens one after the other, and models.

    >>> to_model_list("bert-base-cased", ModelOptions())
    ['bert-base-cased']
    """
    if isinstance(given, str | os.PathLike | Model | ChatModel) or _is_loaded(given):
        given = [given]  # type: ignore[list-item]
    if not isinstance(given, Iterable):
        raise _build_unknown_error(given)
    return [os.fspath(model) if isinstance(model, str | os.PathLike) else open_given(model, options) for model in given]


def open_given(given: ModelInput, options: ModelOptions) -> AnyModel:
    """Open a model by its name, wrap a loaded one, or return an object that is one; inside its chat template if asked.

    A name with a scheme, such as `openai:gpt-x`, is opened by the plug-in or the module of this folder of that name;
    `open_by_name` describes all others.
    """
    model = _open(given, options)
    if not options.chat_template:
        return model
    if isinstance(model, ChatModel):
        raise UsageError(
            f"{model.name} is a chat model, which is asked inside its template anyway; drop --chat-template."
        )
    from tiltmeter.models.templated_model import TemplatedModel

    return TemplatedModel(model)


def _open(given: ModelInput, options: ModelOptions) -> AnyModel:
    if isinstance(given, str | os.PathLike):
        name = os.fspath(given)
        opener = _find_opener(name)
        if opener is not None:
            return opener(name.partition(":")[2], options)
        from tiltmeter.models.local_opener import open_local_model  # torch and transformers take seconds to import

        return open_local_model(
            name,
            kind=options.kind,
            device=options.device,
            devices=options.devices,
            dtype=options.dtype,
            batch_tokens=options.batch_tokens,
            trust_remote_code=options.trust_remote_code,
            cache=options.cache,
            tokenizer=options.tokenizer,
            quantize=options.quantize,
            split=options.split,
            max_memory=options.max_memory,
            keep_heads=options.keep_heads,
            without=select_disabled_speedups(plain=options.plain),
        )
    if _is_loaded(given):
        from tiltmeter.models.in_memory_model import wrap_loaded_model

        module, tokenizer = given  # type: ignore[misc]
        return wrap_loaded_model(
            module,
            tokenizer,
            kind=options.kind,
            batch_tokens=options.batch_tokens,
            without=select_disabled_speedups(plain=options.plain),
        )
    if isinstance(given, Model | ChatModel):
        return given
    raise _build_unknown_error(given)


@contextmanager
def use_model(given: str | AnyModel, options: ModelOptions) -> Iterator[AnyModel]:
    """The model, closed when the context ends. A local one keeps transformers from writing messages meanwhile."""
    with ExitStack() as stack:
        if isinstance(given, str) and _find_opener(given) is None:
            from tiltmeter.models.transformers_logging import silence_transformers

            stack.enter_context(silence_transformers())
        yield stack.enter_context(closing(_open_named(given, options) if isinstance(given, str) else given))


def _open_named(name: str, options: ModelOptions) -> AnyModel:
    """The model of a name; what libraries raise about its files, settings or server is told as a sentence."""
    try:
        model = open_given(name, options)
        if isinstance(model, Model):
            _ = model.max_length  # of a local model, this makes it without its weights: sizes that fit are needed
        return model
    except (TiltmeterError, OSError):
        raise
    except Exception as error:
        raise ModelError(f"The model {redact_model_name(name)} cannot be opened: {describe_error(error)}") from error


def describe_error(error: BaseException) -> str:
    """What an error of a library says, in a line with a full stop."""
    first, *_ = [*str(error).strip().splitlines(), ""]
    return f"{type(error).__name__}{f' ({first[:300]})' if first else ''}."


def get_public_name(model: str | AnyModel) -> str:
    """The name of a model in manifest and report, without a password in the address of its server."""
    return redact_model_name(model) if isinstance(model, str) else model.name


def select_disabled_speedups(*, plain: bool) -> frozenset[str]:
    """The speed-ups that a run leaves out."""
    return ALL if plain else frozenset()


def _is_loaded(given: object) -> bool:
    """Whether this is a loaded model with its tokenizer, and not two names."""
    return isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "forward") and callable(given[1])


def find_scheme(name: str) -> str | None:
    """The scheme of a name, such as `openai`; None if it is opened as files or a hub id."""
    return name.partition(":")[0] if _find_opener(name) is not None else None


def _find_opener(name: str) -> Callable[[str, ModelOptions], AnyModel] | None:
    """The function that opens names with this name's scheme, if it has one."""
    scheme, colon, _ = name.partition(":")
    return _load_opener(scheme) if colon and not Path(name).exists() else None


def _load_opener(scheme: str) -> Callable[[str, ModelOptions], AnyModel] | None:
    brought = find_plugins("models")
    if scheme in brought:
        opener: Callable[[str, ModelOptions], AnyModel] = brought[scheme]()
        return opener
    module = f"{__package__}.{scheme}"
    if not scheme.isidentifier() or find_spec(module) is None:
        return None
    own: Callable[[str, ModelOptions], AnyModel] | None = getattr(import_module(module), _OPENER, None)
    return own


def _build_unknown_error(given: object) -> UsageError:
    return UsageError(
        f"{type(given).__name__} is no model: give a name, a path, a loaded transformers model with its tokenizer as "
        "(model, tokenizer), or an object of tiltmeter.models.model_protocol.Model."
    )
