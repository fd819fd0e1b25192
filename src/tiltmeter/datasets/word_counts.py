"""Count the words of sentences; words are separated by spaces.

Thai is written without spaces between words. PyThaiNLP segments Thai sentences, if it is installed. For other languages
without spaces, words are not counted.
"""

from collections.abc import Callable
from functools import cache

from tiltmeter.forms.word_difference import is_script_without_spaces
from tiltmeter.language_codes import get_base_code

_THAI = "th"


@cache
def build_word_counter(language: str) -> Callable[[str], int | None]:
    """Return a function that takes a sentence and returns its number of words; None if words cannot be counted.

    >>> build_word_counter("en")("Mrs. Lee knits, and sings."), build_word_counter("zh")("她织毛衣。")
    (5, None)
    """
    count_thai = _build_thai_counter() if get_base_code(language) == _THAI else None

    def count_words(sentence: str) -> int | None:
        if count_thai is not None:
            return count_thai(sentence)
        return None if is_script_without_spaces(sentence) else len(sentence.split())

    return count_words


def _build_thai_counter() -> Callable[[str], int] | None:
    try:
        from pythainlp.tokenize import word_tokenize
    except ImportError:
        return None
    return lambda sentence: sum(bool(word.strip()) for word in word_tokenize(sentence, engine="newmm"))


def explain_missing_count(language: str) -> str:
    """Return the reason why the words of a language are not counted."""
    if get_base_code(language) == _THAI:
        return "Thai is written without spaces; to count words, install PyThaiNLP with `pip install 'tiltmeter[thai]'`"
    return "the language is written without spaces, so words are not counted"
