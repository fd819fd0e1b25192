"""Serbian in either script: Cyrillic is written in Latin letters first, then the rules of `hr` hold."""

from tiltmeter.gender import hr

LATIN = str.maketrans(
    dict(
        zip(
            "абвгдђежзијклљмнњопрстћуфхцчџш",
            "a b v g d đ e ž z i j k l lj m n nj o p r s t ć u f h c č dž š".split(),
            strict=True,
        )
    )
)


def latin(word: str) -> str:
    return word.translate(LATIN)


class _S:
    def cues(self, sentence):
        return hr.GRAMMAR.cues([latin(w) for w in sentence])


GRAMMAR = _S()
