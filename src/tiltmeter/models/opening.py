"""From what a run is given for a model (a name, a path, a loaded model, an object) to a `Model`."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from tiltmeter.addresses import public_name
from tiltmeter.engine.speedups import ALL
from tiltmeter.errors import ModelError, TiltmeterError, UsageError
from tiltmeter.models.protocol import ChatModel, Model
from tiltmeter.models.scheme import Scheme, find_scheme
from tiltmeter.options import ModelOptions

# A name or path, a loaded transformers model with its tokenizer, or an object that implements one of the protocols.
Given = str | os.PathLike[str] | tuple[Any, Any] | Model | ChatModel
Opened = Model | ChatModel


def listed(given: Given | Iterable[Given], options: ModelOptions) -> list[str | Opened]:
    """One model or several as a list: names, which the run opens one after the other, and models.

    >>> listed("bert-base-cased", ModelOptions())
    ['bert-base-cased']
    """
    if isinstance(given, str | os.PathLike | Model | ChatModel) or _is_loaded(given):
        given = [given]  # type: ignore[list-item]
    if not isinstance(given, Iterable):
        raise _unknown(given)
    return [os.fspath(model) if isinstance(model, str | os.PathLike) else open_given(model, options) for model in given]


def open_given(given: Given, options: ModelOptions) -> Opened:
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
    from tiltmeter.models.templated import TemplatedModel

    return TemplatedModel(model)


def _open(given: Given, options: ModelOptions) -> Opened:
    if isinstance(given, str | os.PathLike):
        name = os.fspath(given)
        scheme = find_scheme(name)
        if scheme is not None:
            return _open_by_scheme(name, scheme, options)
        from tiltmeter.models.named import open_with_options  # torch and transformers take seconds to import

        return open_with_options(name, options, without=left_out(plain=options.plain))
    if _is_loaded(given):
        from tiltmeter.models.in_memory import in_memory

        module, tokenizer = given  # type: ignore[misc]
        return in_memory(
            module,
            tokenizer,
            kind=options.kind,
            batch_tokens=options.batch_tokens,
            without=left_out(plain=options.plain),
        )
    if isinstance(given, Model | ChatModel):
        return given
    raise _unknown(given)


def _open_by_scheme(name: str, scheme: Scheme, options: ModelOptions) -> Opened:
    prefix, _, rest = name.partition(":")
    model = scheme.open(rest, options)
    if isinstance(model, ChatModel) != scheme.is_chat:
        expected = "ChatModel" if scheme.is_chat else "Model"
        raise UsageError(
            f"The scheme {prefix!r} has is_chat={scheme.is_chat}, but opens {type(model).__name__}, which is no "
            f"tiltmeter.models.protocol.{expected}; repair or uninstall the package that provides it."
        )
    return model


@contextmanager
def opened(given: str | Opened, options: ModelOptions) -> Iterator[Opened]:
    """The model, closed when the context ends. A local one keeps transformers from writing messages meanwhile."""
    with ExitStack() as stack:
        if isinstance(given, str) and find_scheme(given) is None:
            from tiltmeter.models.quiet import quiet_transformers

            stack.enter_context(quiet_transformers())
        yield stack.enter_context(closing(_told(given, options) if isinstance(given, str) else given))


def _told(name: str, options: ModelOptions) -> Opened:
    """The model of a name; what libraries raise about its files, settings or server is told as a sentence."""
    try:
        model = open_given(name, options)
        if isinstance(model, Model):
            _ = model.max_length  # of a local model, this makes it without its weights: sizes that fit are needed
        return model
    except (TiltmeterError, OSError):
        raise
    except Exception as error:
        raise ModelError(f"The model {public_name(name)} cannot be opened: {described(error)}") from error


def described(error: BaseException) -> str:
    """What an error of a library says, in a line with a full stop."""
    first, *_ = [*str(error).strip().splitlines(), ""]
    return f"{type(error).__name__}{f' ({first[:300]})' if first else ''}."


def name_of(model: str | Opened) -> str:
    """The name of a model in manifest and report, without a password in the address of its server."""
    return public_name(model) if isinstance(model, str) else model.name


def left_out(*, plain: bool) -> frozenset[str]:
    """The speed-ups that a run leaves out."""
    return ALL if plain else frozenset()


def _is_loaded(given: object) -> bool:
    """Whether this is a loaded model with its tokenizer, and not two names."""
    return isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "forward") and callable(given[1])


def is_chat_model(model: str | Opened) -> bool:
    """Whether a model chooses between options; a name is not opened for this.

    >>> is_chat_model("chat:embedded"), is_chat_model("embedded")
    (True, False)
    """
    if not isinstance(model, str):
        return isinstance(model, ChatModel)
    scheme = find_scheme(model)
    return scheme is not None and scheme.is_chat


def _unknown(given: object) -> UsageError:
    return UsageError(
        f"{type(given).__name__} is no model: give a name, a path, a loaded transformers model with its tokenizer as "
        "(model, tokenizer), or an object of tiltmeter.models.protocol.Model."
    )
