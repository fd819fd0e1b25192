"""The words of a sentence, counted as in tables of data sets: what stands between spaces.

Thai is written without spaces between words and is cut by PyThaiNLP, if it is installed. The words of other languages
without spaces are not counted.
"""

from collections.abc import Callable
from functools import cache

from tiltmeter.forms.word_difference import is_unspaced

# Words cannot be counted in these languages, and why.
_THAI = "th"


@cache
def build_word_counter(language: str) -> Callable[[str], int | None]:
    """A function from a sentence to the number of its words; None where they cannot be counted.

    >>> build_word_counter("en")("Mrs. Lee knits, and sings."), build_word_counter("zh")("她织毛衣。")
    (5, None)
    """
    cut = _build_thai_counter() if language.split("-")[0] == _THAI else None

    def count(sentence: str) -> int | None:
        if cut is not None:
            return cut(sentence)
        return None if is_unspaced(sentence) else len(sentence.split())

    return count


def _build_thai_counter() -> Callable[[str], int] | None:
    try:
        from pythainlp.tokenize import word_tokenize
    except ImportError:
        return None
    return lambda sentence: sum(bool(word.strip()) for word in word_tokenize(sentence, engine="newmm"))


def explain_missing_count(language: str) -> str:
    """Why the words of a language are not counted, for a note."""
    if language.split("-")[0] == _THAI:
        return "Thai is written without spaces; words are counted with `pip install 'tiltmeter[thai]'`"
    return "written without spaces, so words are not counted"
