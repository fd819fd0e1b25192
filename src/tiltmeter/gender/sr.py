"""Serbian in either script: Cyrillic is written in Latin letters first, then the rules of `hr` hold."""

from collections.abc import Iterator, Sequence

from tiltmeter.gender import hr
from tiltmeter.gender.engine import Cue

_LATIN = dict(
    zip(
        map(ord, "абвгдђежзијклљмнњопрстћуфхцчџш"),
        "a b v g d đ e ž z i j k l lj m n nj o p r s t ć u f h c č dž š".split(),
        strict=True,
    )
)


class SerbianGrammar:
    """The rules of Croatian, which has the same endings, over words in Latin letters."""

    def cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Every cue of a sentence; its words are in Latin letters."""
        return hr.GRAMMAR.cues([token.translate(_LATIN) for token in sentence])


GRAMMAR = SerbianGrammar()
