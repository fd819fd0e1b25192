"""Open the models of a run, which are given as names, paths, loaded models or objects."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from tiltmeter.engine.speedups import ALL
from tiltmeter.errors import ModelError, TiltmeterError, UsageError
from tiltmeter.models.error_text import describe_error
from tiltmeter.models.model_protocol import ChatModel, Model
from tiltmeter.models.scheme import Scheme, find_scheme
from tiltmeter.options import ModelOptions
from tiltmeter.options.model_options import VARIANT_OPTIONS
from tiltmeter.redaction import redact_model_name

# A name or path; a loaded transformers model with its tokenizer; or an object that implements Model or ChatModel.
ModelInput = str | os.PathLike[str] | tuple[Any, Any] | Model | ChatModel
AnyModel = Model | ChatModel


def list_given_models(given: ModelInput | Iterable[ModelInput], options: ModelOptions) -> list[str | AnyModel]:
    """Return one or several models as a list; names are not opened here, because the run opens them later.

    >>> list_given_models("bert-base-cased", ModelOptions())
    ['bert-base-cased']
    """
    if isinstance(given, str | os.PathLike | Model | ChatModel) or _is_loaded(given):
        given = [given]  # type: ignore[list-item]
    if not isinstance(given, Iterable):
        raise _build_unknown_error(given)
    return [
        os.fspath(model) if isinstance(model, str | os.PathLike) else open_given_model(model, options)
        for model in given
    ]


def open_given_model(given: ModelInput, options: ModelOptions) -> AnyModel:
    """Open a model by name, wrap a loaded model, or return an object that is already a model.

    With `--chat-template`, texts are put inside the chat template of the model. A name with a scheme, such as
    `openai:gpt-x`, is opened by this scheme (`tiltmeter.models.scheme`). For all other names see
    `checkpoint_model.open_model`.
    """
    model = _open_model(given, options)
    changed = [name for name in VARIANT_OPTIONS if getattr(options, name)]
    if changed and not hasattr(model, "variant"):
        option = f"--{changed[0].replace('_', '-')}"
        raise UsageError(f"{model.name} does not support {option}, which is for chat models; omit it.")
    if not options.chat_template:
        return model
    if isinstance(model, ChatModel):
        raise UsageError(f"{model.name} is a chat model, which always uses its chat template; omit --chat-template.")
    from tiltmeter.models.templated_model import TemplatedModel

    return TemplatedModel(model)


def _open_model(given: ModelInput, options: ModelOptions) -> AnyModel:
    if isinstance(given, str | os.PathLike):
        name = os.fspath(given)
        scheme = find_scheme(name)
        if scheme is not None:
            return _open_by_scheme(name, scheme, options)
        from tiltmeter.models.local_opener import open_with_options  # importing torch and transformers takes seconds

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
            f"The scheme {prefix!r} has is_chat={scheme.is_chat}, but opens {type(model).__name__}, which does not "
            f"implement tiltmeter.models.model_protocol.{expected}; fix or uninstall the package that adds the scheme."
        )
    return model


@contextmanager
def use_model(given: str | AnyModel, options: ModelOptions) -> Iterator[AnyModel]:
    """Open a model and close it at the end of the context; for a local model, hide the messages of transformers."""
    with ExitStack() as stack:
        if isinstance(given, str) and find_scheme(given) is None:
            from tiltmeter.models.transformers_logging import silence_transformers

            stack.enter_context(silence_transformers())
        yield stack.enter_context(closing(_open_named(given, options) if isinstance(given, str) else given))


def _open_named(name: str, options: ModelOptions) -> AnyModel:
    """Open a model by name; convert errors of libraries to ModelError."""
    try:
        model = open_given_model(name, options)
        if isinstance(model, Model):
            _ = model.max_length  # for a local model, this raises an error if sizes in its config contradict each other
        return model
    except (TiltmeterError, OSError):
        raise
    except Exception as error:
        raise ModelError(f"The model {redact_model_name(name)} cannot be opened: {describe_error(error)}.") from error


def get_public_name(model: str | AnyModel) -> str:
    """Return a model's name for manifest and report; a password in the address of a server is removed."""
    return redact_model_name(model) if isinstance(model, str) else model.name


def select_disabled_speedups(*, plain: bool) -> frozenset[str]:
    """Return the names of the speed-ups to disable: all speed-ups if `plain` (--plain), otherwise none."""
    return ALL if plain else frozenset()


def pair_with_tokenizer(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """Return a loaded model with its loaded tokenizer; raise a UsageError if `model` is not one loaded model."""
    if not _is_loaded((model, tokenizer)):
        raise UsageError(
            f"tokenizer={type(tokenizer).__name__} needs one loaded transformers model, not {type(model).__name__}; "
            "for several models pass [(model, tokenizer), …], and for a name pass the name of the tokenizer."
        )
    return model, tokenizer


def _is_loaded(given: object) -> bool:
    """Return whether `given` is a loaded model with its tokenizer, and not, for example, two names."""
    return isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "forward") and callable(given[1])


def is_chat_model(model: str | AnyModel) -> bool:
    """Return whether a model is a chat model; the model is not opened.

    >>> is_chat_model("chat:embedded"), is_chat_model("embedded")
    (True, False)
    """
    if not isinstance(model, str):
        return isinstance(model, ChatModel)
    scheme = find_scheme(model)
    return scheme is not None and scheme.is_chat


def _build_unknown_error(given: object) -> UsageError:
    return UsageError(
        f"{type(given).__name__} is not a model: pass a name, a path, a loaded transformers model with "
        "tokenizer=…, a pair (model, tokenizer), or an object that implements tiltmeter.models.model_protocol.Model."
    )
