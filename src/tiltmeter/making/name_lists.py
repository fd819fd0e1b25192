"""Replace pronouns by given names (Steinborn et al. 2022, section 3.1).

Names show the gender also in languages without gendered pronouns. The lists of names are in `forms/names`, one file for
each language.
"""

import re
from collections.abc import Iterator

from tiltmeter.errors import UsageError
from tiltmeter.forms.bounded_matcher import BoundedMatcher, MatchingLimitError
from tiltmeter.forms.given_names import NameList, load_name_list
from tiltmeter.making.draft import Draft, RepairFinding

RULE = "names"


def require_name_list(language: str) -> NameList:
    """Return the list of names of a language; raise a UsageError if the language has no list."""
    names = load_name_list(language)
    if names is None:
        raise UsageError(f"There is no list of names for {language!r}; add `forms/names/{language}.toml`.")
    return names


def replace_pronouns(one: str, other: str, index: int, language: str = "en") -> tuple[str, str] | None:
    """Return two sentences in which names replace the first pronoun that differs between the sentences.

    Return None if the sentences are equal, if other words than pronouns differ, or if the first pronoun is reflexive.
    `index` selects a masculine and a feminine name from the name list of the language. Later pronouns are kept and
    refer to the name.

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
    """Return whether `one` is the masculine pronoun, and the ending that a name needs in its place, such as "'s".

    Return None if the two words are not a masculine pronoun and its feminine pronoun, in any order.
    """
    for masculine, (feminine, ending) in names.pronouns.items():
        if (one, other) == (masculine, feminine):
            return True, ending
        if (one, other) == (feminine, masculine):
            return False, ending
    return None


def find_unlisted_names(one: str, other: str, language: str) -> list[str]:
    """Return the words that differ between two sentences, look like names, and are not in the language's list.

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
            # The first word of a sentence always has a capital. So the first words of the two sentences count as names
            # only if one of them is a listed name.
            if all(word[0].isupper() for word in words) and (start > 0 or any(word in names for word in words)):
                unlisted += [word for word in words if word not in names]
    return unlisted


def find_name_errors(draft: Draft) -> Iterator[RepairFinding]:
    """Find wrong names in the translations of a draft.

    Names from the list of the source language are replaced by the names at the same places in the list of the target
    language. Missing names, and additional names from the list, are problems for a reviewer.
    """
    source, target = require_name_list(draft.source_language), require_name_list(draft.language)
    to_target = dict(zip(source.names, target.names, strict=False))
    for field, text in draft.texts.items():
        wanted = [to_target[word] for word in re.findall(r"\w+", draft.source[field]) if word in to_target]
        if not wanted:
            continue
        changed = re.sub(r"\w+", lambda match: to_target.get(match[0], match[0]), text)
        if changed != text:
            reason = (
                f"Names from the name list for {draft.source_language} were replaced by names from the list for "
                f"{draft.language}."
            )
            yield RepairFinding(draft.item, field, RULE, "changed", reason, text, (changed,))
        actual = [word for word in re.findall(r"\w+", changed) if word in target.names]
        if sorted(actual) != sorted(wanted):
            reason = (
                f"The translation should contain these names from the name list: {', '.join(wanted)}; it contains "
                f"{', '.join(actual) or 'none'}."
            )
            yield RepairFinding(draft.item, field, RULE, "open", reason, changed)
