import threading
from pathlib import Path

import pytest
from filelock import FileLock

from tests.support.messages import raises_mentioning
from tests.support.patience import PATIENCE
from tests.translators.fake import FakeTranslator
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.progress.progress import Progress
from tiltmeter.translators.batch_translation import list_untranslated_texts, translate_texts
from tiltmeter.translators.cost import count_characters, require_consent
from tiltmeter.translators.translation_store import TranslationStore
from tiltmeter.translators.translator_protocol import Price

TEXTS = ["I sang.", "I waited for the bus.", "I sang.", "I baked bread.", "I ran."]


@pytest.fixture
def store(tmp_path: Path):
    with TranslationStore(tmp_path / "deep" / "translations.sqlite") as opened:
        yield opened


def test_each_sentence_is_sent_once(store: TranslationStore) -> None:
    translator = FakeTranslator()
    reports: list[Progress] = []
    translations = translate_texts(translator, TEXTS, "sk", store, reports.append)
    assert translations == {text: text.upper() for text in TEXTS}
    assert sorted(translator.sent) == sorted(set(TEXTS))
    assert reports == [Progress(0, 4), Progress(2, 4), Progress(4, 4)]
    assert translate_texts(translator, [*TEXTS, "I slept."], "sk", store)["I slept."] == "I SLEPT."
    assert len(translator.sent) == 5


def test_translations_are_stored_by_system_and_language(store: TranslationStore) -> None:
    for translator, language in ((FakeTranslator(), "sk"), (FakeTranslator(), "uk"), (FakeTranslator(key="2"), "sk")):
        assert list_untranslated_texts(translator, TEXTS, language, store) == list(dict.fromkeys(TEXTS))
        translate_texts(translator, TEXTS, language, store)
        assert not list_untranslated_texts(translator, TEXTS, language, store)
    assert store.find_creation_times("fake 1", "sk") is not None
    assert store.find_creation_times("fake 1", "pl") is None


def test_a_failure_loses_nothing(store: TranslationStore) -> None:
    broken = FakeTranslator(breaks_at="I ran.")
    with raises_mentioning(ModelError, "The line went dead.", "2 of 4 translations", "same command"):
        translate_texts(broken, TEXTS, "sk", store)
    mended = FakeTranslator()
    assert len(translate_texts(mended, TEXTS, "sk", store)) == 4
    assert len(mended.sent) == 2
    assert not set(mended.sent) & set(broken.sent)


def test_a_killed_run_loses_nothing(tmp_path: Path) -> None:
    def die(progress: Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    first, second = FakeTranslator(), FakeTranslator()
    with TranslationStore(tmp_path / "t.sqlite") as store, pytest.raises(KeyboardInterrupt):
        translate_texts(first, TEXTS, "sk", store, die)
    with TranslationStore(tmp_path / "t.sqlite") as store:
        translate_texts(second, TEXTS, "sk", store)
    assert sorted([*first.sent, *second.sent]) == sorted(set(TEXTS))


def test_two_runs_at_once_pay_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, lock = threading.Semaphore(0), TranslationStore.lock

    def counted(store: TranslationStore, system: str, language: str) -> FileLock:
        both.release()
        return lock(store, system, language)

    def slowly(text: str) -> str:
        # The first run continues when the other one has reached the lock.
        for _ in range(2):
            assert both.acquire(timeout=PATIENCE)
        both.release(2)
        return text.upper()

    monkeypatch.setattr(TranslationStore, "lock", counted)

    texts = [f"I counted to {number}." for number in range(40)]
    translators = [FakeTranslator(batch_size=3, say=slowly), FakeTranslator(batch_size=3, say=slowly)]
    translations: list[dict[str, str]] = []

    def run(translator: FakeTranslator) -> None:
        with TranslationStore(tmp_path / "t.sqlite") as store:
            translations.append(translate_texts(translator, texts, "sk", store))

    threads = [threading.Thread(target=run, args=[translator]) for translator in translators]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(translators[0].sent + translators[1].sent) == sorted(texts)
    assert translations[0] == translations[1] == {text: text.upper() for text in texts}


def test_the_first_translation_stays(store: TranslationStore) -> None:
    store.put("s", "sk", {"a": "first"})
    store.put("s", "sk", {"a": "second", "b": "other"})
    assert store.get("s", "sk", ["a", "b", "c"]) == {"a": "first", "b": "other"}
    many = {f"text {number}": str(number) for number in range(1_203)}
    store.put("s", "sk", many)
    assert store.get("s", "sk", many) == many


def test_too_few_translations_are_an_error(store: TranslationStore) -> None:
    class Lossy(FakeTranslator):
        def translate(self, texts, language):
            return super().translate(texts, language)[1:]

    with raises_mentioning(ModelError, "fake", "1 translations", "2 sentences"):
        translate_texts(Lossy(), TEXTS, "sk", store)
    assert len(list_untranslated_texts(FakeTranslator(), TEXTS, "sk", store)) == 4


def test_a_damaged_store_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    path.write_text("This is a text, and long enough not to be taken for an empty data base." * 10)
    with TranslationStore(path) as store:
        store.put("s", "sk", {"a": "b"})
        assert store.get("s", "sk", ["a"]) == {"a": "b"}
    assert (tmp_path / "t.sqlite.damaged-1").read_text().startswith("This is a text")


def test_the_cost_is_reported_before_anything_is_sent() -> None:
    translator = FakeTranslator(name="deepl", price=Price(25.0, "USD", "price list of 2024"))
    left = {"sk": ["I sang."] * 2000, "uk": ["I ran."] * 1000, "pl": []}
    assert count_characters(left) == 20_000
    cost = ("about 0.50 USD", "25 USD per million", "price list of 2024")
    with raises_mentioning(UsageError, "3,000 sentences", "20,000 characters", "deepl", "into sk, uk:", *cost, "--yes"):
        require_consent(False, translator, left)
    require_consent(True, translator, left)
    require_consent(False, translator, {"sk": []})
    require_consent(False, FakeTranslator(), left)


def test_empty_translations_are_not_stored(store: TranslationStore) -> None:
    """If a service returns null or an empty text, the sentence stays untranslated, and the next run sends it again."""
    given = {"I sang.": None, "I ran.": "", "I baked bread.": " \n"}
    translator = FakeTranslator(say=lambda text: given.get(text, text.upper()))  # type: ignore[arg-type, return-value]
    assert translate_texts(translator, TEXTS, "sk", store) == {"I waited for the bus.": "I WAITED FOR THE BUS."}
    assert set(list_untranslated_texts(translator, TEXTS, "sk", store)) == set(given)
    assert len(translate_texts(FakeTranslator(), TEXTS, "sk", store)) == 4
    with raises_mentioning(ModelError, "fake", "int '7'"):
        translate_texts(FakeTranslator(say=lambda _text: 7), TEXTS, "pl", store)  # type: ignore[arg-type, return-value]


def test_an_empty_translation_of_an_earlier_version_is_asked_for_again(store: TranslationStore) -> None:
    store.put("fake 1", "sk", {"I sang.": "", "I ran.": "BEHAL"})
    assert list_untranslated_texts(FakeTranslator(), ["I sang.", "I ran."], "sk", store) == ["I sang."]
    made = translate_texts(FakeTranslator(), ["I sang.", "I ran."], "sk", store)
    assert made == {"I sang.": "I SANG.", "I ran.": "BEHAL"} == store.get("fake 1", "sk", made)
