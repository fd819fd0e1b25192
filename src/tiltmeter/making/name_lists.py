"""Names in place of pronouns, from lists per language (Steinborn et al. 2022, section 3.1).

Pronouns do not tell gender in every language, names given to one gender only do. The lists are in
`forms/names`.
"""

import re
from collections.abc import Iterator

from tiltmeter.errors import UsageError
from tiltmeter.forms.bounded_matcher import BoundedMatcher, MatchingLimitError
from tiltmeter.forms.given_names import NameList, load_name_list
from tiltmeter.making.draft import Draft, RepairFinding

RULE = "names"


def require_name_list(language: str) -> NameList:
    """The names of a language; a UsageError if there is no list."""
    found = load_name_list(language)
    if found is None:
        raise UsageError(f"There is no list of names for {language!r}; `forms/names/{language}.toml` would be one.")
    return found


def replace_pronouns(one: str, other: str, index: int, language: str = "en") -> tuple[str, str] | None:
    """A pair of sentences that differ in pronouns only, with names in place of the first of these; otherwise None.

    `index` chooses the names. Later pronouns stay as they are, and refer to the name.

    >>> replace_pronouns("He forgot his keys.", "She forgot her keys.", 0)
    ('John forgot his keys.', 'Mary forgot her keys.')
    >>> replace_pronouns("The coat is her favourite.", "The coat is his favourite.", 1)
    ("The coat is Linda's favourite.", "The coat is James's favourite.")
    """
    names = require_name_list(language)
    left, right = (re.findall(r"\w+|\W+", text) for text in (one, other))
    if len(left) != len(right):
        return None
    differing = [place for place, (a, b) in enumerate(zip(left, right, strict=True)) if a != b]
    if not differing:
        return None
    pairs = [pair for place in differing if (pair := _match_pronouns(left[place].lower(), right[place].lower(), names))]
    place = differing[0]
    # A name cannot stand for a reflexive pronoun.
    if len(pairs) < len(differing) or left[place].lower() in ("himself", "herself"):
        return None
    masculine_first, ending = pairs[0]
    chosen = [names.masculine[index % len(names.masculine)], names.feminine[index % len(names.feminine)]]
    for tokens, name in zip((left, right), chosen if masculine_first else chosen[::-1], strict=True):
        tokens[place] = name + ending
    return "".join(left), "".join(right)


def _match_pronouns(one: str, other: str, names: NameList) -> tuple[bool, str] | None:
    """Whether the first of two pronouns is the masculine one, and the ending of a name in their place."""
    for masculine, (feminine, ending) in names.pronouns.items():
        if (one, other) == (masculine, feminine):
            return True, ending
        if (one, other) == (feminine, masculine):
            return False, ending
    return None


def find_unlisted_names(one: str, other: str, language: str) -> list[str]:
    """Words in which two sentences of a pair differ and that look like names, but are on no list of the language.

    >>> find_unlisted_names("We saw Mary there.", "We saw Leslie there.", "en")
    ['Leslie']
    """
    listed = require_name_list(language)
    names = set(listed.names)
    left, right = (re.findall(r"\w+", text) for text in (one, other))
    found: list[str] = []
    try:
        opcodes = BoundedMatcher(left, right).get_opcodes()
    except MatchingLimitError:
        return []
    for tag, start, end, other_start, other_end in opcodes:
        if tag == "replace" and end - start == other_end - other_start == 1:
            words = (left[start], right[other_start])
            if _match_pronouns(words[0].lower(), words[1].lower(), listed):
                continue
            # Both are capitalised, and not only because they begin the sentence.
            if all(word[0].isupper() for word in words) and (start > 0 or any(word in names for word in words)):
                found += [word for word in words if word not in names]
    return found


def find_name_errors(draft: Draft) -> Iterator[RepairFinding]:
    """Replace listed source names that a translation kept, and report names that are missing or not listed."""
    source, target = require_name_list(draft.source_language), require_name_list(draft.language)
    to_target = dict(zip(source.names, target.names, strict=False))
    for field, text in draft.texts.items():
        wanted = [to_target[word] for word in re.findall(r"\w+", draft.source[field]) if word in to_target]
        if not wanted:
            continue
        changed = re.sub(r"\w+", lambda match: to_target.get(match[0], match[0]), text)
        if changed != text:
            reason = f"The listed names of {draft.language} take the place of those of {draft.source_language}."
            yield RepairFinding(draft.item, field, RULE, "changed", reason, text, (changed,))
        found = [word for word in re.findall(r"\w+", changed) if word in target.names]
        if sorted(found) != sorted(wanted):
            reason = f"Only listed names may occur: expected {', '.join(wanted)}, found {', '.join(found) or 'none'}."
            yield RepairFinding(draft.item, field, RULE, "open", reason, changed)
