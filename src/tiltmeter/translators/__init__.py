"""Machine translation systems, one module each, and storage, cost and retries of translations."""

from collections.abc import Callable

from tiltmeter.errors import UsageError
from tiltmeter.translators.translator_protocol import (
    PartialTranslator,
    ProtectingTranslator,
    SourceTranslator,
    Translator,
)

__all__ = [
    "NAMES",
    "PartialTranslator",
    "ProtectingTranslator",
    "SourceTranslator",
    "Translator",
    "open_translator",
    "validate_system_name",
]

NAMES = (
    "nllb:MODEL",
    "amazon",
    "deepl",
    "google",
    "apertium:MODE",
    "apy:URL",
    "libretranslate:URL",
    "file:TRANSLATIONS.csv",
)


def open_translator(
    name: str,
    *,
    beams: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
) -> Translator:
    """Open the translation system called `name` (see `NAMES`).

    The options are for local models, and an error for all other systems: `beams` is the beam width (None: the model's
    generation config), the others are those of `open_model`.
    """

    # Imported on use: torch takes seconds to import, and the services need extras.
    def nllb(model: str) -> Translator:
        from tiltmeter.translators.nllb import open_nllb

        return open_nllb(model, beams=beams, device=device, dtype=dtype, trust_remote_code=trust_remote_code)

    def amazon() -> Translator:
        from tiltmeter.translators.amazon import AmazonTranslator

        return AmazonTranslator()

    def deepl() -> Translator:
        from tiltmeter.translators.deepl import DeepLTranslator

        return DeepLTranslator()

    def google() -> Translator:
        from tiltmeter.translators.google import GoogleTranslator

        return GoogleTranslator()

    def apertium(mode: str) -> Translator:
        from tiltmeter.translators.apertium import ApertiumTranslator

        return ApertiumTranslator(mode)

    def apy(url: str) -> Translator:
        from tiltmeter.translators.libretranslate import ApyTranslator

        return ApyTranslator(url)

    def libretranslate(url: str) -> Translator:
        from tiltmeter.translators.libretranslate import LibreTranslator

        return LibreTranslator(url)

    def file(path: str) -> Translator:
        from tiltmeter.translators.translation_files import FileTranslator

        return FileTranslator(path)

    services: dict[str, Callable[[], Translator]] = {"amazon": amazon, "deepl": deepl, "google": google}
    with_argument: dict[str, Callable[[str], Translator]] = {
        "nllb": nllb,
        "apertium": apertium,
        "apy": apy,
        "libretranslate": libretranslate,
        "file": file,
    }
    validate_system_name(name)
    system, _, argument = name.partition(":")
    given = {"beams": beams is not None, "device": device != "auto", "dtype": dtype != "auto"}
    given["trust-remote-code"] = trust_remote_code
    if idle := [f"--{option}" for option, is_given in given.items() if is_given and system != "nllb"]:
        raise UsageError(f"{system} is not a model on this machine and takes no {' or '.join(idle)}; leave it out.")
    return with_argument[system](argument) if argument else services[system]()


def validate_system_name(name: str) -> None:
    """A UsageError unless `name` is written like the name of a translation system (see `NAMES`)."""
    system, _, argument = name.partition(":")
    for known in NAMES:
        known_system, _, known_argument = known.partition(":")
        if system == known_system and bool(argument) == bool(known_argument):
            return
    raise UsageError(f"{name!r} is not a translation system; choose {', '.join(NAMES)}.")
