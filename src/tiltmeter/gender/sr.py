"""The speaker's gender in Serbian. Cyrillic text is transliterated to Latin script, then the Croatian rules apply."""

from collections.abc import Iterator, Sequence

from tiltmeter.gender import hr
from tiltmeter.gender.clauses import Cue

_LATIN = str.maketrans("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš")
_DIGRAPHS = str.maketrans({"љ": "lj", "њ": "nj", "џ": "dž"})


def transliterate_to_latin(text: str) -> str:
    """Transliterate lower-case Serbian text to Latin script.

    >>> transliterate_to_latin("љубав")
    'ljubav'
    """
    return text.translate(_LATIN).translate(_DIGRAPHS)


class SerbianGrammar:
    """The Croatian rules, applied to words in Latin script; Serbian and Croatian have the same endings."""

    def find_cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Yield the cues (words that mark the speaker's gender) of a sentence, in Latin script."""
        return hr.GRAMMAR.find_cues([transliterate_to_latin(token) for token in sentence])


GRAMMAR = SerbianGrammar()
