"""Translate sentences with a store: stored translations are reused, new ones are stored batch by batch."""

from collections.abc import Callable, Iterable, Sequence

from tiltmeter.errors import ModelError
from tiltmeter.translators.translation_store import TranslationStore
from tiltmeter.translators.translator_protocol import Translator

# Called with the number of translated sentences and the total.
OnTranslated = Callable[[int, int], None]


def list_pending(translator: Translator, texts: Iterable[str], language: str, store: TranslationStore) -> list[str]:
    """The distinct sentences without a stored translation."""
    wanted = list(dict.fromkeys(texts))
    stored = store.get(translator.key, language, wanted)
    return [text for text in wanted if text not in stored]


def translate_all(
    translator: Translator,
    texts: Iterable[str],
    language: str,
    store: TranslationStore,
    report: OnTranslated = lambda _done, _all: None,
) -> dict[str, str]:
    """The translations, keyed by sentence; without those that the system gives no translation of."""
    wanted = list(dict.fromkeys(texts))
    translations = store.get(translator.key, language, wanted)
    report(len(translations), len(wanted))
    # Sorted by length, so that local models pad little.
    missing = sorted((text for text in wanted if text not in translations), key=len, reverse=True)
    for start in range(0, len(missing), translator.batch_size):
        batch = missing[start : start + translator.batch_size]
        try:
            translations.update(_translate_batch(translator, batch, language, store))
        except ModelError as error:
            raise ModelError(
                f"{error} {len(translations):,} of {len(wanted):,} sentences are translated and kept; the same command "
                "goes on from there."
            ) from error
        report(len(translations), len(wanted))
    return translations


def _translate_batch(
    translator: Translator, batch: Sequence[str], language: str, store: TranslationStore
) -> dict[str, str]:
    with store.lock(translator.key, language):
        # Another run may have translated some of them in the meantime.
        stored = store.get(translator.key, language, batch)
        missing = [text for text in batch if text not in stored]
        if not missing:
            return stored
        translated = translator.translate(missing, language)
        if len(translated) != len(missing):
            raise ModelError(
                f"{translator.name} was sent {len(missing)} sentences and gave {len(translated)} translations."
            )
        # An empty translation is none: it is not kept, so that the sentence is sent again by the next run.
        new = {
            text: translation
            for text, received in zip(missing, translated, strict=True)
            if (translation := _read_translation(received, translator.name)).strip()
        }
        store.put(translator.key, language, new)
        return stored | new


def _read_translation(value: object, name: str) -> str:
    """The translation in the answer of the system `name`; empty if it is null, a ModelError if it is no text.

    >>> _read_translation("Guten Tag.", "deepl"), _read_translation(None, "deepl")
    ('Guten Tag.', '')
    """
    if value is not None and not isinstance(value, str):
        raise ModelError(f"{name} gave {type(value).__name__} {str(value)[:40]!r} for a translation, which is no text.")
    return value or ""
