"""The wordings of instructions and the words for parsing replies, from `languages/xx.toml`.

    neutral     the text of the neutral option
    closing     the last line of each wording
    blank, follows, pair, speaker, question
                for each task, the first line of each wording; or a table, if a wording has its own format of the
                context or its own texts of the options (by role)
    assign      messages that ask to assign the words {words} to the groups {first} and {second}
    prompt      the words before the context, the question and the answer, in prompts for models that continue a text
    letters     letters of the language's script that may denote options; recognised in replies, never displayed
    replies     words for parsing replies:
                answer                      words before an answer
                option                      words before a label
                copula                      words after a label
                negation, rejection         a nearby option is not chosen: `not`, `wrong`
                instead                     the next option is not chosen: `rather than`
                than                        the next option is not chosen if another option precedes: `A fits better
                                            than B`
                boundary                    separates clauses: `but`, `because`
                ordinals                    words for the places of options: `first`, `second`
                refusal                     phrases of refusals; they may also match inside a word

Tasks without wordings in the language of an item use the English wordings.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from tiltmeter.forms.blank import BLANK
from tiltmeter.questions import Option, Task

ENGLISH = "en"
_CONTEXT = "{context}"
_GAP = "____"
_LISTS = ("answer", "option", "copula", "negation", "rejection", "instead", "than", "boundary", "refusal")


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording of an instruction: question, format of the context, and closing line.

    `names` maps the roles of options to the texts of these options in this wording.
    """

    question: str
    closing: str
    context: str = _CONTEXT
    names: Mapping[str, str] = field(default_factory=dict)

    def build_message(self, context: str, options: Sequence[Option], labels: Sequence[str]) -> str:
        """Return the message with the context and the labelled options."""
        listed = "\n".join(
            f"{label}. {self.get_option_text(option)}" for label, option in zip(labels, options, strict=True)
        )
        quoted = self.context.replace(_CONTEXT, context.replace(BLANK, _GAP)) if context else ""
        return "\n\n".join(filter(None, (self.question, quoted, listed, self.closing)))

    def get_option_text(self, option: Option) -> str:
        """Return the text of an option in this wording."""
        return self.names.get(option.role, option.text)


@dataclass(frozen=True, slots=True)
class ReplyWords:
    """The words of a language for parsing replies; the docstring of this module explains the fields."""

    answer: tuple[str, ...] = ()
    option: tuple[str, ...] = ()
    copula: tuple[str, ...] = ()
    negation: tuple[str, ...] = ()
    rejection: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    than: tuple[str, ...] = ()
    boundary: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    ordinals: tuple[tuple[str, ...], ...] = ()
    letters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LanguageWordings:
    """The wordings of a task and their language, which is English if the requested language has no wordings."""

    language: str
    neutral: str
    wordings: tuple[Wording, ...]


def load_wordings(language: str, task: Task) -> LanguageWordings:
    """Return the wordings of a task in a language, or in English.

    >>> [load_wordings(code, "pair").language for code in ("de", "eo")]
    ['de', 'en']
    """
    table = _load_tables().get(language, {})
    if task not in table:
        language, table = ENGLISH, _load_tables()[ENGLISH]
    wordings = [_parse_wording(entry, closing) for entry, closing in zip(table[task], table["closing"], strict=True)]
    return LanguageWordings(language, str(table["neutral"]), tuple(wordings))


def load_list_wordings(language: str) -> tuple[str, tuple[str, ...]]:
    """Return the messages for lists of words in a language, or in English, with the code of their language.

    >>> [load_list_wordings(code)[0] for code in ("en", "eo")]
    ['en', 'en']
    """
    if "assign" not in _load_tables().get(language, {}):
        language = ENGLISH
    return language, tuple(_load_tables()[language]["assign"])


class PromptWords(NamedTuple):
    """The words before the context, question and answer in a prompt, such as "Context", "Question" and "Answer"."""

    context: str
    question: str
    answer: str

    def build_prompt(self, context: str, question: str) -> str:
        """Return the prompt, which ends where the answer begins.

        >>> print(load_prompt_words("en").build_prompt("Ann met Bob.", "Who whistled?"))
        Context: Ann met Bob.
        Question: Who whistled?
        Answer:
        """
        return f"{self.context}: {context}\n{self.question}: {question}\n{self.answer}:"


def load_prompt_words(language: str) -> PromptWords:
    """Return the words of a prompt in a language, or in English if the language has no such words."""
    table = _load_tables().get(language, {})
    return PromptWords(**(table if "prompt" in table else _load_tables()[ENGLISH])["prompt"])


def list_wording_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have wordings."""
    return tuple(_load_tables())


@cache
def load_reply_words(language: str) -> ReplyWords:
    """Return the words for parsing replies, in a language and in English, because models often reply in English."""
    tables = [_load_tables()[code] for code in dict.fromkeys((language, ENGLISH)) if code in _load_tables()]
    lists = {
        name: tuple(dict.fromkeys(word for table in tables for word in table["replies"].get(name, ())))
        for name in _LISTS
    }
    counts = [table["replies"].get("ordinals", []) for table in tables]
    ordinals = tuple(
        tuple(word for words in counts if len(words) > place for word in words[place])
        for place in range(max(map(len, counts)))
    )
    letters = tuple(letter for table in tables for letter in table.get("letters", ()))
    return ReplyWords(**lists, ordinals=ordinals, letters=letters)


def _parse_wording(entry: str | Mapping[str, str], closing: str) -> Wording:
    if isinstance(entry, str):
        return Wording(entry, closing)
    names = {role: text for role, text in entry.items() if role not in ("question", "context")}
    return Wording(entry["question"], closing, entry.get("context", _CONTEXT), names)


@cache
def _load_tables() -> dict[str, dict[str, Any]]:
    folder = files("tiltmeter.benchmarks.forced_choice") / "languages"
    paths = sorted((path for path in folder.iterdir() if path.name.endswith(".toml")), key=lambda path: path.name)
    return {path.name.removesuffix(".toml"): tomllib.loads(path.read_text(encoding="utf-8")) for path in paths}
