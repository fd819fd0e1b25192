"""Replace pronouns by given names (Steinborn et al. 2022, section 3.1), since some languages have no gendered pronouns.

The lists of names are in `forms/names`, one file per language.
"""

import re
from collections.abc import Iterator

from tiltmeter.errors import UsageError
from tiltmeter.forms.bounded_matcher import BoundedMatcher, MatchingLimitError
from tiltmeter.forms.given_names import NameList, load_name_list
from tiltmeter.making.draft import Draft, RepairFinding

RULE = "names"


def require_name_list(language: str) -> NameList:
    """Return the list of names of a language; raise a UsageError if there is none."""
    names = load_name_list(language)
    if names is None:
        raise UsageError(f"There is no list of names for {language!r}; add `forms/names/{language}.toml`.")
    return names


def replace_pronouns(one: str, other: str, index: int, language: str = "en") -> tuple[str, str] | None:
    """Return two sentences with their first different pronoun replaced by a name; None if they differ in other words.

    `index` selects the names from the lists. Later pronouns stay and refer to the name.

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
    # A name cannot replace a reflexive pronoun.
    if len(pairs) < len(differing) or left[place].lower() in ("himself", "herself"):
        return None
    masculine_first, ending = pairs[0]
    chosen = [names.masculine[index % len(names.masculine)], names.feminine[index % len(names.feminine)]]
    for tokens, name in zip((left, right), chosen if masculine_first else chosen[::-1], strict=True):
        tokens[place] = name + ending
    return "".join(left), "".join(right)


def _match_pronouns(one: str, other: str, names: NameList) -> tuple[bool, str] | None:
    """Return whether the first of two pronouns is masculine, and the ending of a name that replaces them."""
    for masculine, (feminine, ending) in names.pronouns.items():
        if (one, other) == (masculine, feminine):
            return True, ending
        if (one, other) == (feminine, masculine):
            return False, ending
    return None


def find_unlisted_names(one: str, other: str, language: str) -> list[str]:
    """Return the words that look like names, differ between two sentences, and are not in the list of the language.

    >>> find_unlisted_names("We saw Mary there.", "We saw Leslie there.", "en")
    ['Leslie']
    """
    listed = require_name_list(language)
    names = set(listed.names)
    left, right = (re.findall(r"\w+", text) for text in (one, other))
    unlisted: list[str] = []
    try:
        opcodes = BoundedMatcher(left, right).get_opcodes()
    except MatchingLimitError:
        return []
    for tag, start, end, other_start, other_end in opcodes:
        if tag == "replace" and end - start == other_end - other_start == 1:
            words = (left[start], right[other_start])
            if _match_pronouns(words[0].lower(), words[1].lower(), listed):
                continue
            # At the beginning of a sentence, a capital alone does not make a word a name.
            if all(word[0].isupper() for word in words) and (start > 0 or any(word in names for word in words)):
                unlisted += [word for word in words if word not in names]
    return unlisted


def find_name_errors(draft: Draft) -> Iterator[RepairFinding]:
    """Find source names that a translation kept, which are replaced, and names that are missing or not listed."""
    source, target = require_name_list(draft.source_language), require_name_list(draft.language)
    to_target = dict(zip(source.names, target.names, strict=False))
    for field, text in draft.texts.items():
        wanted = [to_target[word] for word in re.findall(r"\w+", draft.source[field]) if word in to_target]
        if not wanted:
            continue
        changed = re.sub(r"\w+", lambda match: to_target.get(match[0], match[0]), text)
        if changed != text:
            reason = f"Names of the {draft.source_language} list were replaced by those of the {draft.language} list."
            yield RepairFinding(draft.item, field, RULE, "changed", reason, text, (changed,))
        actual = [word for word in re.findall(r"\w+", changed) if word in target.names]
        if sorted(actual) != sorted(wanted):
            reason = f"Expected the listed names {', '.join(wanted)}, found {', '.join(actual) or 'none'}."
            yield RepairFinding(draft.item, field, RULE, "open", reason, changed)
