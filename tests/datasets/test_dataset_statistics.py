"""Data sets in numbers."""

import json
from pathlib import Path

import pytest

from tests.support.command import command
from tiltmeter.datasets import load
from tiltmeter.datasets.dataset_statistics import describe_items, list_sentences
from tiltmeter.datasets.word_counts import build_word_counter
from tiltmeter.forms.association import AssociationItem, Candidate
from tiltmeter.forms.pairs import PairItem


def test_pairs() -> None:
    items = [
        PairItem("a", "en", "gender", "stereo", "My aunt knits.", "My uncle knits."),
        PairItem("b", "en", "age", "stereo", "My aunt knits.", "My little niece knits now."),
        PairItem("c", "de", "age", "stereo", "Opa kocht.", "Ich koche."),
    ]
    english, german = describe_items(items, lambda texts: [len(text) for text in texts])
    assert (english.items, english.contexts, english.sentences, german.items) == (2, 1, 4, 1)
    assert english.words is not None
    assert (english.words.total, english.words.shortest, english.words.longest) == (3 + 3 + 3 + 5, 3, 5)
    assert english.words.mean == pytest.approx(14 / 4)
    assert english.pieces is not None
    assert english.pieces.total == sum(len(text) for item in items[:2] for text in (item.more, item.less))
    assert dict(english.per_subject) == {"gender": 1, "age": 1}


def test_a_blank_is_filled_and_a_sentence_that_follows_is_one_of_its_own() -> None:
    words = [Candidate(str(n), role, "", word) for n, (role, word) in enumerate(
        (("stereotype", "calm"), ("anti-stereotype", "wild"), ("unrelated", "blue")))]  # fmt: skip
    inside = AssociationItem("a", "intrasentence", "en", "age", "aunt", "aunt", "My aunt is BLANK.", tuple(words))
    assert list_sentences(inside) == ["My aunt is calm.", "My aunt is wild.", "My aunt is blue."]
    (follows, *_) = load("starter", "intersentence", "en")
    assert list_sentences(follows) == [follows.context, *(one.sentence for one in follows.candidates)]  # type: ignore[attr-defined]


def test_words_of_scripts_without_spaces() -> None:
    thai = PairItem("a", "th", "gender", "stereo", "แม่ของฉันทำอาหาร", "พ่อของฉันทำอาหาร")
    chinese = PairItem("a", "zh", "gender", "stereo", "她织毛衣。", "他织毛衣。")
    (found,) = describe_items([thai])
    assert found.words is not None, "PyThaiNLP is one of the packages that tests need"
    assert found.words.total == 8
    (found,) = describe_items([chinese])
    assert found.words is None
    assert "without spaces" in found.note


def test_thai_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pythainlp.tokenize", None)
    build_word_counter.cache_clear()
    (found,) = describe_items([PairItem("a", "th", "gender", "stereo", "แม่ของฉัน", "พ่อของฉัน")])
    build_word_counter.cache_clear()
    assert found.words is None
    assert "tiltmeter[thai]" in found.note


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(monkeypatch, "data", "describe", "starter:en,de", "--figure", str(tmp_path)) == 0
    printed = capsys.readouterr().out
    assert "intrasentence German" in printed
    assert "bias_type: " in printed
    assert (tmp_path / "data-items.svg").is_file() or list(tmp_path.glob("*.svg"))
    assert command(monkeypatch, "data", "describe", "starter-pairs:en", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    items = load("starter-pairs", language="en")
    assert found["items"] == len(items)
    assert sum(found["bias_type"].values()) == len(items)
    texts = [text for item in items for text in (item.more, item.less)]  # type: ignore[attr-defined]
    assert found["words"]["total"] == sum(len(text.split()) for text in texts)


@pytest.mark.parametrize(("language", "words"), [("de", 5470), ("en", 5548), ("fi", 4151), ("id", 4790)])
def test_words_as_printed_in_the_paper(
    language: str, words: int, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steinborn et al. 2022, Table 1."""
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    (found,) = describe_items(load("gender-pairs", language=language))
    assert found.words is not None
    assert found.words.total == words
