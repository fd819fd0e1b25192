"""Serbian in either script: Cyrillic is transliterated to Latin, then the Croatian rules (`hr`) apply."""

from collections.abc import Iterator, Sequence

from tiltmeter.gender import hr
from tiltmeter.gender.clauses import Cue

_LATIN = str.maketrans("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš")
_DIGRAPHS = str.maketrans({"љ": "lj", "њ": "nj", "џ": "dž"})


def latin(text: str) -> str:
    """Transliterate lower-case Serbian to Latin script.

    >>> latin("љубав")
    'ljubav'
    """
    return text.translate(_LATIN).translate(_DIGRAPHS)


class SerbianGrammar:
    """The Croatian rules (the endings are the same) applied to transliterated words."""

    def cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """All cues of a sentence, with words in Latin script."""
        return hr.GRAMMAR.cues([latin(token) for token in sentence])


GRAMMAR = SerbianGrammar()
