"""The cost of a paid translation service; the cost is reported before any sentence is sent."""

from collections.abc import Mapping, Sequence

from tiltmeter.errors import UsageError
from tiltmeter.translators.translator_protocol import Translator


def count_characters(pending: Mapping[str, Sequence[str]]) -> int:
    """Return the number of characters in all sentences, with spaces and punctuation, because services bill them too.

    `pending` maps each target language to the sentences that have to be translated.
    """
    return sum(len(text) for texts in pending.values() for text in texts)


def require_consent(yes: bool, translator: Translator, pending: Mapping[str, Sequence[str]]) -> None:
    """Raise a UsageError that states the cost of the translations, unless `yes` is set or nothing has to be paid.

    `pending` maps each target language to the sentences that have to be translated.
    """
    price = translator.price
    count = count_characters(pending)
    if price is None or yes or not count:
        return
    cost = count / 1_000_000 * price.per_million
    sentences = sum(map(len, pending.values()))
    raise UsageError(
        f"This would send {sentences:,} sentences ({count:,} characters) to {translator.name}, for translation into "
        f"{', '.join(language for language, texts in pending.items() if texts)}: about {cost:,.2f} {price.currency} at "
        f"{price.per_million:g} {price.currency} per million characters ({price.price_list}; your plan may differ). "
        "Nothing was sent; add --yes to accept the cost."
    )
