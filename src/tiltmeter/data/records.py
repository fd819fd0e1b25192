"""Records: items as a reader finds them, before anything about them is known to be right.

Every reader brings its format into the same shape, that of our JSONL with the candidates in a list, and `build` makes
items of it. So what makes an item unusable is decided here, once, for all formats.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tiltmeter.data.blank import fill, word_in
from tiltmeter.data.items import (
    BLANK,
    PARTS,
    ROLES,
    WINOBIAS_PARTS,
    AssociationItem,
    Candidate,
    GestItem,
    GestPairItem,
    Item,
    PairItem,
    Part,
    Role,
    WinoBiasItem,
)

STEREOTYPES: Final = range(1, 17)

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a record: a finding that does not yet know where it is."""

    code: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Record:
    """The values at one place of a file.

    `values` is None where there was nothing to make values of; `problems` then say why. `names` gives the file's own
    name for a field, where that is not ours: `{"more": "A_x"}`.
    """

    row: str
    values: Mapping[str, object] | None
    names: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[Problem] = ()


class BrokenFileError(Exception):
    """Raised by a reader that can make nothing of the file."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(code, "", message)


def build(values: Mapping[str, object]) -> tuple[Item | None, list[Problem]]:
    """The item that the values make, or None if there is an error among the problems.

    >>> build({"id": "1", "language": "en", "stereotype": 17, "sentence": "I repaired the radio."})[1][0].message
    'the stereotype should be a number from 1 to 16, and is 17'
    """
    fields = _Fields(values)
    item: Item | None
    if "occupation" in values:
        item = _winobias(fields)
    elif {"male", "female"} & values.keys():
        item = _gest_pair(fields)
    elif {"context", "candidates", "part"} & values.keys():
        item = _association(fields)
    elif {"more", "less"} & values.keys():
        item = _pair(fields)
    elif {"stereotype", "sentence"} & values.keys():
        item = _gest(fields)
    else:
        fields.note(
            "unknown-form",
            "",
            "should have context and candidates, or more and less, or stereotype and sentence, or male and female",
        )
        item = None
    return (None if fields.problems else item), fields.problems


class _Fields:
    """Takes values out of a record and notes what is wrong with them."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values
        self.problems: list[Problem] = []

    def note(self, code: str, field: str, message: str) -> None:
        self.problems.append(Problem(code, field, message))

    def text(self, key: str) -> str:
        """The text at `key`; empty, and noted, if there is none."""
        return self.text_in(self.values, key, key)

    def text_in(self, values: Mapping[str, object], key: str, field: str) -> str:
        if key not in values:
            self.note("missing-field", field, f"{key} is missing")
            return ""
        value = values[key]
        if not isinstance(value, str):
            self.note("wrong-type", field, f"should be text, and is {_kind(value)}")
            return ""
        if not value.strip():
            self.note("empty-text", field, "the text is empty")
            return ""
        if not _is_unicode(value):
            self.note("bad-encoding", field, "holds half of a surrogate pair, which is no character")
            return ""
        return value

    def language(self) -> str:
        language = self.text("language")
        if language and not _LANGUAGE.fullmatch(language):
            self.note("bad-language", "language", f"{language!r} is not a language code such as de or pt-BR")
        return language


def _association(fields: _Fields) -> AssociationItem | None:
    id_, language = fields.text("id"), fields.language()
    bias_type, target = fields.text("bias_type"), fields.text("target")
    target_term = fields.text("target_term") if "target_term" in fields.values else target
    part, context = _part(fields), fields.text("context")
    if part == "intrasentence" and context and BLANK not in context:
        fields.note("no-blank", "context", f"an intrasentence context needs {BLANK} where the candidate words go")
    candidates = _candidates(fields, id_, part, context)
    if part is None:
        return None
    return AssociationItem(id_, part, language, bias_type, target, target_term, context, candidates)


def _part(fields: _Fields) -> Part | None:
    text = fields.text("part")
    for part in PARTS:
        if text == part:
            return part
    if text:
        fields.note("unknown-part", "part", f"should be intrasentence or intersentence, and is {text!r}")
    return None


def _candidates(fields: _Fields, item: str, part: Part | None, context: str) -> tuple[Candidate, ...]:
    raw = fields.values.get("candidates")
    if not isinstance(raw, Sequence) or isinstance(raw, str):
        code, message = ("wrong-type", f"is {_kind(raw)}") if raw is not None else ("missing-field", "is missing")
        fields.note(code, "candidates", f"candidates {message}")
        return ()
    candidates: list[Candidate] = []
    for number, values in enumerate(raw):
        place = f"candidates[{number}]"
        if not isinstance(values, Mapping):
            fields.note("wrong-type", place, f"a candidate is {_kind(values)}")
            continue
        role = _role(fields, values, place)
        id_ = fields.text_in(values, "id", f"{place}.id") if "id" in values else f"{item}/{role}"
        sentence, word = _sentence_and_word(fields, values, place, part, context)
        if role is None:
            continue
        if any(other.role == role for other in candidates):
            fields.note("duplicate-role", f"{place}.role", f"there is another candidate with the role {role}")
        candidates.append(Candidate(id_, role, sentence, word))
    for role in ROLES:
        if not any(values.get("role") == role for values in raw if isinstance(values, Mapping)):
            fields.note("missing-role", "candidates", f"there is no candidate with the role {role}")
    return tuple(candidates)


def _role(fields: _Fields, values: Mapping[str, object], place: str) -> Role | None:
    text = fields.text_in(values, "role", f"{place}.role")
    for role in ROLES:
        if text == role:
            return role
    if text:
        fields.note("unknown-role", f"{place}.role", f"should be {', '.join(ROLES)}, and is {text!r}")
    return None


def _sentence_and_word(
    fields: _Fields, values: Mapping[str, object], place: str, part: Part | None, context: str
) -> tuple[str, str]:
    """The candidate's sentence and word; within sentences, each can be told from the other and the context."""
    if part != "intrasentence":
        return fields.text_in(values, "sentence", f"{place}.sentence"), ""
    if "sentence" not in values:
        word = fields.text_in(values, "word", f"{place}.word")
        return fill(context, word), word
    sentence = fields.text_in(values, "sentence", f"{place}.sentence")
    if "word" in values:
        return sentence, fields.text_in(values, "word", f"{place}.word")
    if not sentence or BLANK not in context:
        return sentence, ""
    found = word_in(context, sentence)
    if found is None:
        fields.note("word-not-found", f"{place}.sentence", f"does not show which word stands for {BLANK}")
    return sentence, found or ""


def _pair(fields: _Fields) -> PairItem | None:
    id_, language, bias_type = fields.text("id"), fields.language(), fields.text("bias_type")
    more, less, direction = fields.text("more"), fields.text("less"), fields.text("direction")
    if direction in ("stereo", "antistereo"):
        return PairItem(id_, language, bias_type, "stereo" if direction == "stereo" else "antistereo", more, less)
    if direction:
        fields.note("unknown-direction", "direction", f"should be stereo or antistereo, and is {direction!r}")
    return None


def _gest(fields: _Fields) -> GestItem | None:
    id_, language, sentence = fields.text("id"), fields.language(), fields.text("sentence")
    stereotype = _stereotype(fields)
    return None if stereotype is None else GestItem(id_, language, stereotype, sentence)


def _gest_pair(fields: _Fields) -> GestPairItem | None:
    id_, language, male, female = fields.text("id"), fields.language(), fields.text("male"), fields.text("female")
    known = {key: fields.text(key) for key in ("original", "translator") if fields.values.get(key, "") != ""}
    stereotype = _stereotype(fields)
    return None if stereotype is None else GestPairItem(id_, language, stereotype, male, female, **known)


def _stereotype(fields: _Fields) -> int | None:
    stereotype = fields.values.get("stereotype")
    if isinstance(stereotype, int) and not isinstance(stereotype, bool) and stereotype in STEREOTYPES:
        return stereotype
    shown = "missing" if stereotype is None else repr(stereotype)
    fields.note("bad-stereotype", "stereotype", f"the stereotype should be a number from 1 to 16, and is {shown}")
    return None


def _winobias(fields: _Fields) -> WinoBiasItem | None:
    id_, language, occupation = fields.text("id"), fields.language(), fields.text("occupation")
    male, female, part, gender = (fields.text(key) for key in ("male", "female", "part", "gender"))
    if part and part not in WINOBIAS_PARTS:
        fields.note("unknown-part", "part", f"should be one of {', '.join(WINOBIAS_PARTS)}, and is {part!r}")
    if gender in ("male", "female"):
        return WinoBiasItem(id_, part, language, occupation, "male" if gender == "male" else "female", male, female)
    if gender:
        fields.note("unknown-gender", "gender", f"should be male or female, and is {gender!r}")
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    """What a value is, in words for people who write JSON."""
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")
