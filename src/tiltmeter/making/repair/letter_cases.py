"""How the texts of a project write words inside sentences: with a capital or with a small letter at the start."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.given_names import load_name_list
from tiltmeter.language_codes import get_base_code
from tiltmeter.making.draft import Draft

_WORDS = re.compile(r"\w+(?:-\w+)*")
# A word after one of these characters may have a capital only because of its position.
_SENTENCE_STARTS = '.!?…:;"“”„«»¿¡‘(['
# The number of letters in which two words must begin alike, and the number of letters that may follow.
_STEM, _ENDING = 4, 5
# The capitals of a word are exceptions if the word has a small letter at least this many times as often.
_MOSTLY = 10


@dataclass(frozen=True, slots=True)
class LetterCases:
    """The numbers of words with a capital (`capital`) and with a small letter (`small`) inside sentences.

    The keys are the words with a small first letter. `names` are given names.
    """

    language: str = ""
    capital: Counter[str] = field(default_factory=Counter)
    small: Counter[str] = field(default_factory=Counter)
    stems: Counter[str] = field(default_factory=Counter)
    names: frozenset[str] = frozenset()

    def is_capitalised(self, word: str) -> bool:
        """Tell whether a text or a name list writes this word, or a longer word with its stem, with a capital.

        >>> LetterCases("fr", Counter(france=1), stems=Counter(fran=1)).is_capitalised("France")
        True
        """
        key = lower_first_letter(word, self.language)
        if word in self.names or self.capital[key]:
            return True
        return len(key) >= _STEM and any(
            self.stems[key[:length]] for length in range(max(_STEM, len(key) - 2), len(key) + 1)
        )

    def is_mostly_small(self, word: str) -> bool:
        """Tell whether the texts nearly always write this word with a small letter, and no name list has it.

        >>> LetterCases("gl", Counter(é=1), Counter(é=40)).is_mostly_small("É")
        True
        """
        key = lower_first_letter(word, self.language)
        return word not in self.names and self.small[key] > _MOSTLY * self.capital[key]

    def is_small(self, word: str) -> bool:
        """Tell whether a text writes this word with a small first letter."""
        return bool(self.small[lower_first_letter(word, self.language)])


def collect_letter_cases(drafts: Iterable[Draft]) -> LetterCases:
    """Count how the contexts, sentences and filled sentences of drafts write each word inside a sentence."""
    language = ""
    capital, small, stems = Counter[str](), Counter[str](), Counter[str]()
    names: set[str] = set()
    for draft in drafts:
        if not language:
            language = draft.language
            names = {name for code in (language, draft.source_language) for name in _list_names(code)}
        fields = (*draft.list_fields("context"), *draft.list_fields("sentence"))
        for text in (*(draft.texts[name] for name in fields if name in draft.texts), *draft.filled.values()):
            for word in find_inner_words(text):
                if word[0].isupper():
                    key = lower_first_letter(word, language)
                    capital[key] += 1
                    for length in range(_STEM, min(len(key), 20) + 1):
                        stems[key[:length]] += len(key) - length <= _ENDING
                else:
                    small[word] += 1
    return LetterCases(language, capital, small, stems, frozenset(names))


def find_inner_words(text: str) -> Iterator[str]:
    """Yield the words of a text whose letter case does not depend on their position in the text.

    Words at the start of a sentence or quotation, after the blank, and in capitals are left out.

    >>> list(find_inner_words("BLANK Was the cook from Lyon. Nobody knew him."))
    ['the', 'cook', 'from', 'Lyon', 'knew', 'him']
    """
    before = ""
    end = 0
    for match in _WORDS.finditer(text):
        between = text[end : match.start()]
        # An apostrophe inside a word, as in "l'Italie", starts no sentence.
        opens = " '" in between or any(character in _SENTENCE_STARTS for character in between)
        at_start = opens or not before or before == BLANK
        before, end = match[0], match.end()
        if not at_start and match[0][0].isalpha() and not (len(match[0]) > 1 and match[0].isupper()):
            yield match[0]


def lower_first_letter(word: str, language: str) -> str:
    """Return the word with a small first letter, by the rules of the language.

    >>> lower_first_letter("İyi", "tr"), lower_first_letter("Irak", "tr"), lower_first_letter("Irak", "de")
    ('iyi', 'ırak', 'irak')
    """
    letter = word[:1]
    if get_base_code(language) in ("tr", "az"):
        return {"I": "ı", "İ": "i"}.get(letter, letter.lower()) + word[1:]
    return letter.lower() + word[1:]


def raise_first_letter(word: str, language: str) -> str:
    """Return the word with a capital at the start, by the rules of the language.

    >>> raise_first_letter("iyi", "tr"), raise_first_letter("iyi", "eo")
    ('İyi', 'Iyi')
    """
    letter = word[:1]
    # Turkish and Azerbaijani have a dotted and a dotless i.
    dotted = get_base_code(language) in ("tr", "az") and letter == "i"
    return ("İ" if dotted else letter.upper()) + word[1:]


def _list_names(language: str) -> tuple[str, ...]:
    names = load_name_list(language)
    return tuple(names.names) if names else ()
