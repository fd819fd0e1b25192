"""Serbian in either script: Cyrillic is written in Latin letters first, then the rules of `hr` hold."""

from collections.abc import Iterator, Sequence

from tiltmeter.gender import hr
from tiltmeter.gender.clauses import Cue

_LATIN = str.maketrans("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš")
_DIGRAPHS = str.maketrans({"љ": "lj", "њ": "nj", "џ": "dž"})


def latin(text: str) -> str:
    """Lower-case Serbian in Latin letters.

    >>> latin("љубав")
    'ljubav'
    """
    return text.translate(_LATIN).translate(_DIGRAPHS)


class SerbianGrammar:
    """The rules of Croatian, which has the same endings, over words in Latin letters."""

    def cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Every cue of a sentence; its words are in Latin letters."""
        return hr.GRAMMAR.cues([latin(token) for token in sentence])


GRAMMAR = SerbianGrammar()
