"""The languages of translation systems: a new project is refused if its system does not translate into the language."""

from pathlib import Path

from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.language_codes import is_same_language
from tiltmeter.translators import ListingTranslator, open_translator, validate_system_name
from tiltmeter.translators.translator_protocol import SOURCE, with_source_language


def check_target_language(system: str, language: str, source_language: str = SOURCE) -> str:
    """Raise a UsageError if the translation system `system` does not translate into the language.

    Return an empty text if the system was checked; otherwise return the reason why it could not be checked, for
    example because the system is not installed on this machine. Models are not downloaded.
    """
    described = validate_system_name(system)
    if described.is_chat:
        return "chat models do not list their languages"
    name = system.partition(":")[2]
    if described.is_local and not Path(name).is_dir():
        return f"{name} is not a folder; its languages are checked when you translate"
    try:
        translator = open_translator(system)
    except TiltmeterError as error:
        return str(error).rstrip(".")
    translator = with_source_language(translator, source_language)
    translator.check(language)
    if isinstance(translator, ListingTranslator):
        return _compare_with_list(translator, language)
    return ""


def _compare_with_list(translator: ListingTranslator, language: str) -> str:
    try:
        known = translator.list_target_languages()
    except TiltmeterError as error:
        return str(error).rstrip(".")
    if not known:
        return f"{translator.name} lists no languages"
    if not any(is_same_language(one, language) for one in known):
        raise UsageError(
            f"{translator.name} does not translate into {language!r}; choose another system, or one of its languages: "
            f"{', '.join(known)}."
        )
    return ""
