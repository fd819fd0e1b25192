"""What a paid service will ask for, said before anything is sent."""

from collections.abc import Mapping, Sequence

from tiltmeter.errors import UsageError
from tiltmeter.translators.base import Translator


def characters(pending: Mapping[str, Sequence[str]]) -> int:
    """The characters of all sentences; the services count spaces and full stops too."""
    return sum(len(text) for texts in pending.values() for text in texts)


def require_consent(yes: bool, translator: Translator, pending: Mapping[str, Sequence[str]]) -> None:
    """Stop before sentences (by language) go to a paid service, unless the user has said yes to it."""
    price = translator.price
    count = characters(pending)
    if price is None or yes or not count:
        return
    cost = count / 1_000_000 * price.per_million
    sentences = sum(map(len, pending.values()))
    raise UsageError(
        f"This would send {sentences:,} sentences, {count:,} characters, to {translator.name}, for translations into "
        f"{', '.join(language for language, texts in pending.items() if texts)}: about {cost:,.2f} {price.currency} at "
        f"{price.per_million:g} {price.currency} per million characters ({price.price_list}; your plan may differ). "
        "Nothing was sent; pass --yes to go on."
    )
