"""Detection of the speaker's gender with the parser Stanza instead of rules; needs the extra `tiltmeter[stanza]`."""

from importlib import import_module
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.gender import LANGUAGES, SpeakerGender
from tiltmeter.gender.clauses import normalise_text
from tiltmeter.gender.conllu import ParsedWord, find_conllu_gender
from tiltmeter.gender.sr import transliterate_to_latin


class StanzaGenderFinder:
    """A detector of the speaker's gender that parses texts with Stanza. Stanza downloads its models on first use."""

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise UsageError(
                f"The speaker's gender is not supported in {language!r}; use one of {', '.join(LANGUAGES)}."
            )
        try:
            stanza: Any = import_module("stanza")
        except ImportError as error:
            raise UsageError(
                "Stanza is not installed; install tiltmeter[stanza], or use the rules (the default)."
            ) from error
        self.language = language
        self._pipeline = stanza.Pipeline(language, processors="tokenize,pos,lemma,depparse", verbose=False)

    def find_speaker_gender(self, text: str) -> SpeakerGender:
        """Return the speaker's gender from the first sentence of `text` that marks it; otherwise the gender is None."""
        if self.language == "sr":
            # Stanza's Serbian model was trained on texts in Latin script.
            text = transliterate_to_latin(normalise_text(text))
        for sentence in self._pipeline(text).sentences:
            speaker = find_conllu_gender([_convert_word(word) for word in sentence.words], explain=True)
            if speaker.gender:
                return speaker
        return SpeakerGender(None)


def _convert_word(word: Any) -> ParsedWord:
    features = dict(pair.split("=", 1) for pair in word.feats.split("|")) if word.feats else {}
    return ParsedWord(word.id, word.text, word.lemma or word.text, word.upos, word.head, word.deprel or "", features)
