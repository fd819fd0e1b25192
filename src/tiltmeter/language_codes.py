"""Language codes (BCP 47, ISO 639): names, scripts, conversion and comparison, by the library langcodes.

The functions accept codes in any of these notations, also with an underscore, such as `cat_valencia`.
"""

from functools import cache

import langcodes
from langcodes.tag_parser import LanguageTagError

# The largest distance of langcodes between two codes of one language, such as `no` and `nb`.
_SAME = 1


@cache
def _parse_code(code: str) -> langcodes.Language | None:
    """Return the language of a code, with macrolanguage codes such as `ar` for `arb`; None if it is not a code."""
    try:
        return langcodes.Language.get(langcodes.standardize_tag(code, macro=True))
    except LanguageTagError:
        return None


def get_base_code(code: str) -> str:
    """Return the shortest code of a language, without script, region and variant; other texts are returned unchanged.

    >>> get_base_code("pt-BR"), get_base_code("glg"), get_base_code("arb_Arab")
    ('pt', 'gl', 'ar')
    """
    language = _parse_code(code)
    return (language.language if language else None) or code


def get_three_letters(code: str) -> str:
    """Return the ISO 639-3 code of a language; a code that has none is returned unchanged.

    >>> get_three_letters("gl"), get_three_letters("eo"), get_three_letters("pt-BR"), get_three_letters("xx")
    ('glg', 'epo', 'por', 'xx')
    """
    language = _parse_code(code)
    try:
        return language.to_alpha3() if language and language.language else code
    except LookupError:
        return code


def get_script_code(code: str) -> str:
    """Return the ISO 15924 code of the script in which a language is usually written; empty if it is unknown.

    >>> get_script_code("sr"), get_script_code("sr-Latn"), get_script_code("zh-TW"), get_script_code("xx")
    ('Cyrl', 'Latn', 'Hant', '')
    """
    language = _parse_code(code)
    if language is None or not language.is_valid():
        return ""
    return language.maximize().script or ""


def find_language_name(code: str) -> str | None:
    """Return the English name of a language, with its script and region; None if the code is unknown.

    >>> find_language_name("oc"), find_language_name("pt-BR"), find_language_name("xx")
    ('Occitan', 'Portuguese (Brazil)', None)
    """
    language = _parse_code(code)
    return language.display_name() if language is not None and language.is_valid() else None


def find_script_name(code: str) -> str:
    """Return the English name of the script in which a language is usually written; empty if it is unknown.

    >>> find_script_name("mk"), find_script_name("oc"), find_script_name("xx")
    ('Cyrillic', 'Latin', '')
    """
    script = get_script_code(code)
    return langcodes.Language.make(script=script).script_name() if script else ""


def is_same_language(one: str, other: str) -> bool:
    """Return whether two codes denote the same language; regions do not count, scripts count if both codes have one.

    >>> is_same_language("ca", "cat_valencia"), is_same_language("no", "nob"), is_same_language("gl", "es")
    (True, True, False)
    """
    left, right = _parse_code(one), _parse_code(other)
    if left is None or right is None:
        return one == other
    if left.script and right.script and left.script != right.script:
        return False
    if left.language == right.language:
        return True
    return left.is_valid() and right.is_valid() and min(left.distance(right), right.distance(left)) <= _SAME
