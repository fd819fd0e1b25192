"""Translate sentences in batches: stored translations are reused, and the translations of each batch are stored."""

from collections.abc import Iterable, Sequence

from tiltmeter.errors import ModelError
from tiltmeter.progress.progress import Progress, ReportProgress, ignore_progress
from tiltmeter.translators.translation_store import TranslationStore
from tiltmeter.translators.translator_protocol import Translator


def list_untranslated_texts(
    translator: Translator, texts: Iterable[str], language: str, store: TranslationStore
) -> list[str]:
    """Return the sentences without a stored translation; each sentence is listed once."""
    wanted = list(dict.fromkeys(texts))
    stored = store.get(translator.key, language, wanted)
    return [text for text in wanted if text not in stored]


def translate_texts(
    translator: Translator,
    texts: Iterable[str],
    language: str,
    store: TranslationStore,
    report: ReportProgress = ignore_progress,
) -> dict[str, str]:
    """Translate sentences; return a dictionary from sentences to translations, without untranslated sentences."""
    wanted = list(dict.fromkeys(texts))
    translations = store.get(translator.key, language, wanted)
    report(Progress(len(translations), len(wanted)))
    # Sort by length, so that batches of local models have little padding.
    missing = sorted((text for text in wanted if text not in translations), key=len, reverse=True)
    for start in range(0, len(missing), translator.batch_size):
        batch = missing[start : start + translator.batch_size]
        try:
            translations.update(_translate_batch(translator, batch, language, store))
        except ModelError as error:
            raise ModelError(
                f"{error} {len(translations):,} of {len(wanted):,} translations are stored; run the same command again "
                "to continue."
            ) from error
        report(Progress(len(translations), len(wanted)))
    return translations


def _translate_batch(
    translator: Translator, batch: Sequence[str], language: str, store: TranslationStore
) -> dict[str, str]:
    with store.lock(translator.key, language):
        # Read the store again, because another run may have translated some of the sentences in the meantime.
        stored = store.get(translator.key, language, batch)
        missing = [text for text in batch if text not in stored]
        if not missing:
            return stored
        translated = translator.translate(missing, language)
        if len(translated) != len(missing):
            raise ModelError(f"{translator.name} returned {len(translated)} translations for {len(missing)} sentences.")
        # Do not store empty translations, so that the next run sends these sentences again.
        new = {
            text: translation
            for text, received in zip(missing, translated, strict=True)
            if (translation := _read_translation(received, translator.name)).strip()
        }
        store.put(translator.key, language, new)
        return stored | new


def _read_translation(value: object, name: str) -> str:
    """Return a translation, or an empty text for None; raise a ModelError for any other type of value.

    >>> _read_translation("Guten Tag.", "deepl"), _read_translation(None, "deepl")
    ('Guten Tag.', '')
    """
    if value is not None and not isinstance(value, str):
        raise ModelError(
            f"{name} returned {type(value).__name__} {str(value)[:40]!r} instead of a text as translation."
        )
    return value or ""
