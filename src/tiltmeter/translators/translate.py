"""Sentences in, translations out: what is stored is not sent again, and what comes is stored at once."""

from collections.abc import Callable, Iterable, Sequence

from tiltmeter.errors import ModelError
from tiltmeter.translators.base import Translator
from tiltmeter.translators.translation_store import TranslationStore

# Told how many sentences are translated, of how many.
Report = Callable[[int, int], None]


def pending(translator: Translator, texts: Iterable[str], language: str, store: TranslationStore) -> list[str]:
    """The sentences that are not stored yet, each once."""
    wanted = list(dict.fromkeys(texts))
    stored = store.get(translator.key, language, wanted)
    return [text for text in wanted if text not in stored]


def translate_all(
    translator: Translator,
    texts: Iterable[str],
    language: str,
    store: TranslationStore,
    report: Report = lambda _done, _all: None,
) -> dict[str, str]:
    """The translations of all sentences, by sentence."""
    wanted = list(dict.fromkeys(texts))
    found = store.get(translator.key, language, wanted)
    report(len(found), len(wanted))
    # Sentences of like length go together: a model that runs here pads the shorter ones.
    left = sorted((text for text in wanted if text not in found), key=len, reverse=True)
    for start in range(0, len(left), translator.batch_size):
        batch = left[start : start + translator.batch_size]
        try:
            found.update(_translated(translator, batch, language, store))
        except ModelError as error:
            raise ModelError(
                f"{error} {len(found):,} of {len(wanted):,} sentences are translated and kept; the same command goes "
                "on from there."
            ) from error
        report(len(found), len(wanted))
    return found


def _translated(translator: Translator, batch: Sequence[str], language: str, store: TranslationStore) -> dict[str, str]:
    with store.lock(translator.key, language):
        # Another run may have translated some of them while we waited.
        found = store.get(translator.key, language, batch)
        fresh = [text for text in batch if text not in found]
        if not fresh:
            return found
        made = translator.translate(fresh, language)
        if len(made) != len(fresh):
            raise ModelError(f"{translator.name} was sent {len(fresh)} sentences and gave {len(made)} translations.")
        new = dict(zip(fresh, made, strict=True))
        store.put(translator.key, language, new)
        return found | new
