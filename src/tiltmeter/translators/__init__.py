"""Translation systems: who translates, and how translations are kept, paid for and tried again.

One file for each system; `open_translator` finds them by name.
"""

from collections.abc import Callable

from tiltmeter.errors import UsageError
from tiltmeter.translators.base import Translator

__all__ = ["NAMES", "Translator", "open_translator"]

NAMES = ("nllb:MODEL", "amazon", "deepl", "google", "apertium:MODE", "apy:URL", "libretranslate:URL")


def open_translator(
    name: str,
    *,
    beams: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
) -> Translator:
    """The translation system called `name`, in one of the forms of `NAMES`.

    The options are for models that run here: `beams` for the search (None: as the model's own generation config
    says), the others as everywhere.
    """

    # Each import waits until its system is asked for: torch takes seconds, and the services are extras.
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

    services: dict[str, Callable[[], Translator]] = {"amazon": amazon, "deepl": deepl, "google": google}
    others: dict[str, Callable[[str], Translator]] = {
        "nllb": nllb,
        "apertium": apertium,
        "apy": apy,
        "libretranslate": libretranslate,
    }
    system, _, what = name.partition(":")
    if system in services and not what:
        return services[system]()
    if system in others and what:
        return others[system](what)
    raise UsageError(f"{name!r} is not a translation system; choose {', '.join(NAMES)}.")
