"""Machine translation systems (one module per system), and the storage, cost and batching of translations.

Another package can add a system with an entry point in the group `tiltmeter.translators` that refers to a
`TranslationSystem`. Every chat model (see `tiltmeter.models.scheme`) is a translation system too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.registry import OWN_PACKAGE, Component, index_components, list_plugins
from tiltmeter.translators.translator_protocol import (
    ItemTranslator,
    ListingTranslator,
    MarkingTranslator,
    PartialTranslator,
    ProtectingTranslator,
    SourceTranslator,
    Translator,
)

__all__ = [
    "ItemTranslator",
    "ListingTranslator",
    "MarkingTranslator",
    "PartialTranslator",
    "ProtectingTranslator",
    "SourceTranslator",
    "TranslationSystem",
    "Translator",
    "open_translator",
    "validate_system_name",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationSystem:
    """A translation system. Users select a system by its name, such as `deepl`, or with an argument: `nllb:MODEL`.

    `argument` is the name of the argument in messages; it is empty if the system has no argument. `open` is called with
    the argument, if there is one. If `is_local` is true, `open` also accepts the options of local models. The languages
    of a chat model (`is_chat`) are unknown.
    """

    open: Callable[..., Translator]
    argument: str = ""
    is_local: bool = False
    is_chat: bool = False


def _describe_builtin(module: str, opener: str, argument: str = "", *, is_local: bool = False) -> TranslationSystem:
    # Import the module on first use, because torch is slow to import and the services need optional packages.
    def open_system(*arguments: str, **options: object) -> Translator:
        translator: Translator = getattr(import_module(f"{__name__}.{module}"), opener)(*arguments, **options)
        return translator

    return TranslationSystem(open=open_system, argument=argument, is_local=is_local)


_BUILTIN = {
    "nllb": _describe_builtin("nllb", "open_nllb", "MODEL", is_local=True),
    "amazon": _describe_builtin("amazon", "AmazonTranslator"),
    "deepl": _describe_builtin("deepl", "DeepLTranslator"),
    "google": _describe_builtin("google", "GoogleTranslator"),
    "apertium": _describe_builtin("apertium", "ApertiumTranslator", "MODE"),
    "apy": _describe_builtin("libretranslate", "ApyTranslator", "URL"),
    "libretranslate": _describe_builtin("libretranslate", "LibreTranslator", "URL"),
    "file": _describe_builtin("translation_files", "FileTranslator", "TRANSLATIONS.csv"),
}


def open_translator(
    name: str,
    *,
    beams: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
) -> Translator:
    """Open the translation system `name`, for example `deepl` or `nllb:MODEL`.

    The options apply to local models only; other systems reject them. `beams` is the beam width; None means the value
    in the model's generation config. The other options are those of `open_model`.
    """
    system = validate_system_name(name)
    scheme, _, argument = name.partition(":")
    arguments = (argument,) if argument else ()
    if system.is_local:
        return system.open(*arguments, beams=beams, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
    given = {"beams": beams is not None, "device": device != "auto", "dtype": dtype != "auto"}
    given["trust-remote-code"] = trust_remote_code
    if unused := [f"--{option}" for option, is_given in given.items() if is_given]:
        raise UsageError(f"{scheme} is not a local model, so {' and '.join(unused)} cannot be used; leave this out.")
    return system.open(*arguments)


def validate_system_name(name: str) -> TranslationSystem:
    """Return the translation system that `name` selects; raise a UsageError if the name or its argument is wrong."""
    scheme, _, argument = name.partition(":")
    system = _list_systems().get(scheme) or _describe_chat_model(name)
    if system is not None and bool(argument) == bool(system.argument):
        return system
    known = [f"{name}:{one.argument}" if one.argument else name for name, one in _list_systems().items()]
    raise UsageError(
        f"{name!r} is not a translation system; choose one of {', '.join(known)}, or a chat model, such as "
        "chat:MODEL@ADDRESS."
    )


def _describe_chat_model(name: str) -> TranslationSystem | None:
    """Return the translation system that consists of the chat model `name`; None if no scheme opens chat models."""
    from tiltmeter.models.scheme import find_scheme  # this module imports numpy, which is slow

    scheme = find_scheme(name)
    if scheme is None or not scheme.is_chat:
        return None

    def open_system(_argument: str, **options: Any) -> Translator:
        from tiltmeter.translators.chat_translator import open_chat_translator

        return open_chat_translator(name, **options)

    is_local = scheme.locate(name.partition(":")[2]) == "named"
    return TranslationSystem(open=open_system, argument="MODEL", is_local=is_local, is_chat=True)


@cache
def _list_systems() -> dict[str, TranslationSystem]:
    builtin = [Component(name, OWN_PACKAGE, system) for name, system in _BUILTIN.items()]
    plugged = [plugin._replace(value=plugin.value()) for plugin in list_plugins("translators", TranslationSystem)]
    return index_components("translators", [*builtin, *plugged])
