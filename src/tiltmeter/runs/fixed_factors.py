"""The option `--fixed`: factors over which the results of a run do not generalise."""

from collections.abc import Iterable, Sequence

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.forms import get_forms


def read_fixed_factors(nouns: Iterable[str], forms: Iterable[str]) -> tuple[str, ...]:
    """Check the names of fixed factors, such as `words`, and return them without duplicates.

    `forms` are the names of the forms of the items. Raise a UsageError if no form has a factor with this name.

    >>> read_fixed_factors(["words"], ["association"])
    ('words',)
    """
    chosen = set(forms)
    known = list(dict.fromkeys(noun for name, form in get_forms().items() if name in chosen for noun in form.factors))
    distinct = tuple(dict.fromkeys(nouns))
    for noun in distinct:
        if not known:
            raise UsageError(f"--fixed {noun} has no effect, because these items have no factors; remove --fixed.")
        if noun not in known:
            choice = " or ".join(known)
            raise UsageError(
                f"--fixed {noun}: {noun} is not a factor of these items{suggest_name(noun, known)}; choose {choice}."
            )
    return distinct


def list_fixed_columns(nouns: Iterable[str]) -> frozenset[str]:
    """Return the columns of the score table that contain these factors, for all forms of items.

    >>> sorted(list_fixed_columns(["words"]))
    ['anti_stereotype_word', 'gendered_words', 'stereotype_word', 'word']
    """
    wanted = tuple(nouns)
    return frozenset(
        column for form in get_forms().values() for noun in wanted for column in form.factors.get(noun, ())
    )


def describe_fixed_factors(nouns: Sequence[str]) -> str:
    """Return a sentence that limits the claims of a run to these factors; empty if there are none.

    >>> describe_fixed_factors(["words"])
    'The results concern only the words of these items (--fixed words): intervals do not account for this factor.'
    """
    if not nouns:
        return ""
    factors = "this factor" if len(nouns) == 1 else "these factors"
    return (
        f"The results concern only the {' and '.join(nouns)} of these items (--fixed {' --fixed '.join(nouns)}): "
        f"intervals do not account for {factors}."
    )
