"""Association items: a context and three candidates, as in StereoSet.

    {"id": "nurse-1", "part": "intrasentence", "language": "en", "bias_type": "profession", "target": "nurse",
     "context": "The nurse was BLANK.", "candidates": {"stereotype": "gentle", "anti-stereotype": "gruff", …}}

In JSONL, `candidates` is an object with a key for each role; `Form.read` expects a list of objects with a key `role`.

With `"whole": true`, the candidates of an intrasentence item are complete sentences, which need not be the context
with a word in place of BLANK. Translations need `"whole"` if each sentence was translated separately.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from tiltmeter.forms.blank import BLANK, fill_blank, find_blank_word
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.forms.fields import Fields, Problem, describe_json_type
from tiltmeter.forms.form import Form, ItemText, JsonValues, TextType, UniqueValue
from tiltmeter.forms.visible_text import INVISIBLE, extract_visible_text
from tiltmeter.forms.word_difference import find_swapped_words

Part = Literal["intrasentence", "intersentence"]
Role = Literal["stereotype", "anti-stereotype", "unrelated"]

PARTS: tuple[Part, ...] = ("intrasentence", "intersentence")
ROLES: tuple[Role, ...] = ("stereotype", "anti-stereotype", "unrelated")

# The attributes with the words that replace BLANK in the stereotype and in the anti-stereotype.
WORDS = ("stereotype_word", "anti_stereotype_word")

_JOINT = "['’-]?"
_ATTACHED = re.compile(rf"\w+{_JOINT}{BLANK}|{BLANK}{_JOINT}\w+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the three candidates of a context.

    `sentence` is the complete sentence. `word` is the word that replaces BLANK; it is empty for intersentence
    candidates.
    """

    id: str
    role: Role
    sentence: str
    word: str = ""

    @property
    def text(self) -> str:
        """The text that differs between candidates: the word (intrasentence) or the sentence (intersentence)."""
        return self.word or self.sentence


@dataclass(frozen=True, slots=True)
class AssociationItem:
    """A StereoSet context with its three candidates.

    `target` is the name of the group, equal in all languages; `target_term` is its name in the language of the item.
    `whole` is true if the candidates of an intrasentence item are complete sentences without a word for BLANK.
    """

    id: str
    part: Part
    language: str
    bias_type: str
    target: str
    target_term: str
    context: str
    candidates: tuple[Candidate, ...]
    whole: bool = False


# Functions that read an item


def _read_item(fields: Fields) -> AssociationItem | None:
    id_, language = fields.text("id"), fields.language()
    bias_type, target = fields.text("bias_type"), fields.text("target")
    target_term = fields.text("target_term") if "target_term" in fields.values else target
    named = fields.choice("part", PARTS, "unknown-part")
    part = next((part for part in PARTS if part == named), None)
    context = fields.text("context")
    whole = fields.values.get("whole", False)
    if not isinstance(whole, bool):
        fields.note("wrong-type", "whole", f"must be true or false, not {describe_json_type(whole)}")
    whole = whole is True and part == "intrasentence"
    if part == "intrasentence" and not whole and context and BLANK not in context:
        fields.note("no-blank", "context", f"the context of an intrasentence item needs the placeholder {BLANK}")
    candidates = _read_candidates(fields, id_, with_word=part == "intrasentence" and not whole, context=context)
    if part is None:
        return None
    return AssociationItem(id_, part, language, bias_type, target, target_term, context, candidates, whole)


def _read_candidates(fields: Fields, item: str, *, with_word: bool, context: str) -> tuple[Candidate, ...]:
    entries = fields.objects("candidates")
    if any(problem.field == "candidates" for problem in fields.problems):
        return ()
    candidates: list[Candidate] = []
    for name, values in entries:
        role = _read_role(fields, values, name)
        id_ = fields.get_nested_text(values, "id", f"{name}.id") if "id" in values else f"{item}/{role}"
        sentence, word = _read_sentence_and_word(fields, values, name, context, with_word=with_word)
        if role is None:
            continue
        if any(other.role == role for other in candidates):
            fields.note("duplicate-role", f"{name}.role", f"another candidate has the same role, {role}")
        candidates.append(Candidate(id_, role, sentence, word))
    for role in ROLES:
        if not any(values.get("role") == role for _, values in entries):
            fields.note("missing-role", "candidates", f"no candidate has the role {role}")
    return tuple(candidates)


def _read_role(fields: Fields, values: Mapping[str, object], name: str) -> Role | None:
    text = fields.get_nested_text(values, "role", f"{name}.role")
    for role in ROLES:
        if text == role:
            return role
    if text:
        fields.note("unknown-role", f"{name}.role", f"must be one of {', '.join(ROLES)}, not {text!r}")
    return None


def _read_sentence_and_word(
    fields: Fields, values: Mapping[str, object], name: str, context: str, *, with_word: bool
) -> tuple[str, str]:
    """Return the sentence and the word of a candidate; if only one is in the data, the other is derived from it."""
    if not with_word:
        return fields.get_nested_text(values, "sentence", f"{name}.sentence"), ""
    if "sentence" not in values:
        given_word = fields.get_nested_text(values, "word", f"{name}.word")
        return fill_blank(context, given_word), given_word
    sentence = fields.get_nested_text(values, "sentence", f"{name}.sentence")
    if "word" in values:
        return sentence, fields.get_nested_text(values, "word", f"{name}.word")
    if not sentence or BLANK not in context:
        return sentence, ""
    word = find_blank_word(context, sentence)
    if word is None:
        fields.note("word-not-found", f"{name}.sentence", f"the word that replaces {BLANK} cannot be determined")
    return sentence, word or ""


# Functions that convert an item from and to JSONL


def _convert_candidates(values: Mapping[str, object]) -> JsonValues:
    """Convert the candidates from an object with a key for each role to a list of objects."""
    if "candidates" not in values:
        return JsonValues(values)
    by_role = values["candidates"]
    if not isinstance(by_role, dict):
        problem = Problem("wrong-type", "candidates", "must be an object with a candidate for each role")
        return JsonValues(None, problems=(problem,))
    candidates: list[object] = []
    names: dict[str, str] = {}
    problems: list[Problem] = []
    with_word = values.get("part") == "intrasentence" and values.get("whole") is not True
    keys = ("id", "sentence", "word") if with_word else ("id", "sentence")
    for number, (role, value) in enumerate(by_role.items()):
        ours, theirs = f"candidates[{number}]", f"candidates.{role}"
        names |= {ours: theirs, f"{ours}.role": theirs}
        if isinstance(value, dict):
            candidates.append({**value, "role": role})
            names |= {f"{ours}.{key}": f"{theirs}.{key}" for key in keys}
            unknown = [key for key in value if key not in keys]
            problems += [Problem("unknown-field", f"{theirs}.{key}", f"unknown field {key!r}") for key in unknown]
        else:
            candidates.append({"role": role, "word" if with_word else "sentence": value})
            names |= {f"{ours}.{key}": theirs for key in keys}
    return JsonValues({**values, "candidates": candidates}, names, tuple(problems))


def _write_item(item: AssociationItem) -> dict[str, object]:
    values: dict[str, object] = {"id": item.id, "part": item.part, "language": item.language}
    values |= {"bias_type": item.bias_type, "target": item.target}
    if item.target_term != item.target:
        values["target_term"] = item.target_term
    if item.whole:
        values["whole"] = True
    return values | {
        "context": item.context,
        "candidates": {candidate.role: _write_candidate(candidate, item) for candidate in item.candidates},
    }


def _write_candidate(candidate: Candidate, item: AssociationItem) -> str | dict[str, str]:
    """Return the JSON value of a candidate: only its text if the other values follow from it, otherwise an object."""
    values = {"id": candidate.id, "sentence": candidate.sentence}
    if candidate.word:
        values["word"] = candidate.word
        if candidate.sentence == fill_blank(item.context, candidate.word):
            del values["sentence"]
    if candidate.id == f"{item.id}/{candidate.role}":
        del values["id"]
    return next(iter(values.values())) if len(values) == 1 else values


# Functions for the texts of an item


def _list_texts(item: AssociationItem) -> Iterator[tuple[str, str]]:
    yield "target_term", item.target_term
    yield "context", item.context
    for number, candidate in enumerate(item.candidates):
        yield f"candidates[{number}].sentence", candidate.sentence
        if candidate.word:
            yield f"candidates[{number}].word", candidate.word


def _select_translatable(item: AssociationItem) -> dict[str, str]:
    """Return the texts to translate, by field; sentences built from the context and a word are omitted."""
    texts = {"target_term": item.target_term, "context": item.context}
    for number, candidate in enumerate(item.candidates):
        texts[f"candidates[{number}].{'word' if candidate.word else 'sentence'}"] = candidate.text
    return texts


def _get_text_type(field: str) -> TextType:
    if field == "context":
        return "context"
    if field == "target_term":
        return "term"
    return "word" if field.endswith(".word") else "sentence"


def _map_fields_to_roles(item: AssociationItem) -> dict[str, str]:
    """Return a mapping from field names, such as `candidates[0].word` or `candidates.stereotype.word`, to roles."""
    return {
        f"{name}{of}": candidate.role
        for number, candidate in enumerate(item.candidates)
        for name in (f"candidates[{number}]", f"candidates.{candidate.role}")
        for of in ("", ".word", ".sentence")
    }


def _replace_texts(item: AssociationItem, language: str, texts: Mapping[str, str]) -> AssociationItem:
    """Return the item in another language with these texts; intrasentence sentences are built from context and word."""
    context = texts.get("context", item.context)
    candidates = []
    for number, candidate in enumerate(item.candidates):
        if candidate.word:
            word = texts.get(f"candidates[{number}].word", candidate.word)
            candidates.append(replace(candidate, word=word, sentence=fill_blank(context, word)))
        else:
            sentence = texts.get(f"candidates[{number}].sentence", candidate.sentence)
            candidates.append(replace(candidate, sentence=sentence))
    return replace(
        item,
        language=language,
        target_term=texts.get("target_term", item.target_term),
        context=context,
        candidates=tuple(candidates),
    )


def _format_for_display(item: AssociationItem) -> ItemText:
    return ItemText(item.context, {candidate.role: candidate.text for candidate in item.candidates})


def get_attributes(item: AssociationItem) -> dict[str, Any]:
    """Return the columns that an item adds to the score table.

    `length_difference` is the length of the stereotype minus the length of the anti-stereotype, in characters.
    `stereotype_word` and `anti_stereotype_word` are empty for intersentence items.
    """
    lengths = {candidate.role: len(candidate.text) for candidate in item.candidates}
    return {
        "bias_type": item.bias_type,
        "target": item.target,
        **dict(zip(WORDS, _find_words(item), strict=True)),
        "length_difference": lengths["stereotype"] - lengths["anti-stereotype"],
    }


def _find_words(item: AssociationItem) -> tuple[str, str]:
    """Return the words of the stereotype and of the anti-stereotype; if an item has no blank, the differing words."""
    candidates = {candidate.role: candidate for candidate in item.candidates}
    stereotype, opposite = candidates["stereotype"], candidates["anti-stereotype"]
    if item.whole and item.part == "intrasentence":
        return find_swapped_words(stereotype.text, opposite.text)
    return fold_case(stereotype.word.strip()), fold_case(opposite.word.strip())


# Functions that find duplicates and yield warnings


def _list_unique_values(item: AssociationItem) -> Iterator[UniqueValue]:
    yield UniqueValue("duplicate-context", "context", (item.part, item.context))
    for number, candidate in enumerate(item.candidates):
        yield UniqueValue("duplicate-candidate-id", f"candidates[{number}].id", candidate.id)


def _lint_item(item: AssociationItem) -> Iterator[Problem]:
    if fold_case(item.target_term) not in fold_case(item.context):
        yield Problem("target-not-in-context", "context", f"does not contain the target term {item.target_term!r}")
    if item.part == "intrasentence":
        yield from () if item.whole else _check_blanks(item)
    elif BLANK in item.context:
        yield Problem("blank-in-sentence", "context", f"contains {BLANK}")
    texts: dict[str, str] = {}
    for number, candidate in enumerate(item.candidates):
        name = f"candidates[{number}]"
        if BLANK in candidate.sentence:
            yield Problem("blank-in-sentence", f"{name}.sentence", f"contains {BLANK}")
        field = f"{name}.word" if candidate.word else f"{name}.sentence"
        visible = extract_visible_text(candidate.text)
        if candidate.text in texts.values():
            yield Problem("identical-candidates", field, "another candidate has the same text")
        elif visible in texts:
            message = "differs from another candidate only in spaces or invisible characters"
            yield Problem("invisible-difference", field, message)
        texts[visible] = candidate.text


def _check_blanks(item: AssociationItem) -> Iterator[Problem]:
    if item.context.count(BLANK) > 1:
        yield Problem("several-blanks", "context", f"contains {BLANK} {item.context.count(BLANK)} times")
    if attached := _ATTACHED.search(item.context):
        yield Problem("attached-blank", "context", f"letters are attached to {BLANK}: {attached[0]!r}")
    for number, candidate in enumerate(item.candidates):
        filled, field = fill_blank(item.context, candidate.word), f"candidates[{number}].sentence"
        if candidate.sentence == filled:
            continue
        if candidate.sentence.casefold() == filled.casefold():
            yield Problem("sentence-case", field, "differs in capitals from the context with the word filled in")
        else:
            yield Problem("sentence-differs", field, "is not the context with the word filled in")


FORM = Form(
    name="association",
    item=AssociationItem,
    keys=("id", "part", "language", "bias_type", "target", "target_term", "whole", "context", "candidates"),
    optional=("target_term", "whole"),
    distinctive=("context", "candidates", "part"),
    read=_read_item,
    write=_write_item,
    from_json=_convert_candidates,
    texts=_list_texts,
    translatable=_select_translatable,
    text_kind=_get_text_type,
    text_names=_map_fields_to_roles,
    with_texts=_replace_texts,
    attributes=get_attributes,
    options=lambda item: {candidate.role: candidate.sentence for candidate in item.candidates},
    subject="target",
    numbers=("length_difference",),
    factors={"targets": ("target",), "words": WORDS},
    hidden=WORDS,
    shown=_format_for_display,
    heading=lambda item: (item.bias_type, item.target_term),
    parts=PARTS,
    part_of=lambda item: item.part,
    unique=_list_unique_values,
    lint=_lint_item,
    errors={
        "duplicate-candidate-id": "two candidates with the same id, in one language",
        "duplicate-role": "two candidates of an item with the same role",
        "missing-role": "an item that lacks a candidate: the stereotype, the anti-stereotype or the unrelated one",
        "no-blank": "an intrasentence context without BLANK",
        "unknown-role": "a role that is not stereotype, anti-stereotype or unrelated",
        "word-not-found": "a candidate sentence from which the word for BLANK cannot be determined",
    },
    warnings={
        "attached-blank": "letters attached to BLANK, which will be attached to the candidate word",
        "blank-in-sentence": "BLANK in a text that is not an intrasentence context",
        "duplicate-context": "the same context as an earlier item",
        "identical-candidates": "candidates of different roles with the same text: their scores will tie",
        **INVISIBLE,
        "sentence-case": "a candidate sentence that differs in its capitals from the context with the word filled in",
        "sentence-differs": "a candidate sentence that is not the context with the word filled in",
        "several-blanks": "BLANK more than once; the published protocol fills every BLANK and scores the first one",
        "target-not-in-context": "a target term that does not occur in the context",
    },
    changing_meaning=("blank-in-sentence", "identical-candidates", "invisible-difference", "several-blanks"),
)
