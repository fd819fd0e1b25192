"""From what a run is given for a model (a name, a path, a loaded model, an object) to a `Model`."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from tiltmeter.engine.speedups import ALL
from tiltmeter.errors import ModelError, TiltmeterError, UsageError
from tiltmeter.models.model_protocol import ChatModel, Model
from tiltmeter.models.scheme import Scheme, find_scheme
from tiltmeter.options import ModelOptions
from tiltmeter.redaction import redact_model_name

# A name or path, a loaded transformers model with its tokenizer, or an object that implements one of the protocols.
ModelInput = str | os.PathLike[str] | tuple[Any, Any] | Model | ChatModel
AnyModel = Model | ChatModel


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

    A name with a scheme, such as `openai:gpt-x`, is opened by its scheme (`tiltmeter.models.scheme`); `open_by_name`
    describes all others.
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
        scheme = find_scheme(name)
        if scheme is not None:
            return _open_by_scheme(name, scheme, options)
        from tiltmeter.models.local_opener import open_with_options  # torch and transformers take seconds to import

        return open_with_options(name, options, without=select_disabled_speedups(plain=options.plain))
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


def _open_by_scheme(name: str, scheme: Scheme, options: ModelOptions) -> AnyModel:
    prefix, _, rest = name.partition(":")
    model = scheme.open(rest, options)
    if isinstance(model, ChatModel) != scheme.is_chat:
        expected = "ChatModel" if scheme.is_chat else "Model"
        raise UsageError(
            f"The scheme {prefix!r} has is_chat={scheme.is_chat}, but opens {type(model).__name__}, which is no "
            f"tiltmeter.models.model_protocol.{expected}; repair or uninstall the package that provides it."
        )
    return model


@contextmanager
def use_model(given: str | AnyModel, options: ModelOptions) -> Iterator[AnyModel]:
    """The model, closed when the context ends. A local one keeps transformers from writing messages meanwhile."""
    with ExitStack() as stack:
        if isinstance(given, str) and find_scheme(given) is None:
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


def is_chat_model(model: str | AnyModel) -> bool:
    """Whether a model chooses between options; a name is not opened for this.

    >>> is_chat_model("chat:embedded"), is_chat_model("embedded")
    (True, False)
    """
    if not isinstance(model, str):
        return isinstance(model, ChatModel)
    scheme = find_scheme(model)
    return scheme is not None and scheme.is_chat


def _build_unknown_error(given: object) -> UsageError:
    return UsageError(
        f"{type(given).__name__} is no model: give a name, a path, a loaded transformers model with its tokenizer as "
        "(model, tokenizer), or an object of tiltmeter.models.model_protocol.Model."
    )
