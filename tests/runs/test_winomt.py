"""WinoMT: the gender of nouns in translations, and runs on synthetic items."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.models.chat_served import ChatServer, chat_serving
from tests.support.command import command
from tests.support.messages import raises_mentioning
from tests.translators.fake import FakeTranslator
from tiltmeter.errors import DataError, ModelError, UsageError
from tiltmeter.forms.winomt import WinoMTItem
from tiltmeter.gender.noun_gender import load_noun_rules
from tiltmeter.runs.translation import winomt
from tiltmeter.runs.translation.winomt import find_entity_tokens, find_usual_words, read_gender
from tiltmeter.runs.translation_run import evaluate_translator, score_translations
from tiltmeter.translators.word_alignment import AlignedPair, Links, tokenize_words

SENTENCES = {
    ("gardener", "male", "pro"): "The gardener thanked the florist because he had lost the seeds.",
    ("gardener", "female", "anti"): "The gardener thanked the florist because she had lost the seeds.",
    ("florist", "female", "pro"): "The florist called the cook before she closed the shop.",
    ("florist", "male", "anti"): "The florist called the cook before he closed the shop.",
    ("cook", "neutral", "none"): "The cook told the guest that they had time.",
}
SPANISH = {
    "The gardener thanked the florist because he had lost the seeds.": "El jardinero agradeció a la florista.",
    "The gardener thanked the florist because she had lost the seeds.": "El jardinero agradeció a la florista.",
    "The florist called the cook before she closed the shop.": "La florista llamó al cocinero.",
    "The florist called the cook before he closed the shop.": "La florista llamó al cocinero.",
    "The cook told the guest that they had time.": "Su chef dijo que había tiempo.",
}
DIAGONAL = frozenset((n, n) for n in range(3))


class WordByWord:
    """Links the n-th word of a source with the n-th of its translation, for the first three."""

    def align_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[AlignedPair]:
        return [AlignedPair(tuple(tokenize_words(a)), tuple(tokenize_words(b)), DIAGONAL, DIAGONAL) for a, b in pairs]


@pytest.fixture
def items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(winomt, "find_aligner", WordByWord)
    path = tmp_path / "made.jsonl"
    rows = [
        {"id": str(n), "language": "en", "gender": gender, "entity": entity, "position": 1, "sentence": sentence}
        | {"stereotypical": casting}
        for n, ((entity, gender, casting), sentence) in enumerate(SENTENCES.items())
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return f"{path}:es"


def read(entity: str, position: int, source: str, target: str, forward: Links, reverse: Links, language: str) -> object:
    item = WinoMTItem("1", "en", "male", entity, position, source)
    pair = AlignedPair(tuple(tokenize_words(source)), tuple(tokenize_words(target)), forward, reverse)
    return read_gender(item, target, pair, load_noun_rules(language)).gender


def test_links_in_both_directions_are_preferred() -> None:
    source, target = "The cook saw her.", "Enfermera vio el cocinero."
    forward, reverse = frozenset({(1, 0), (1, 3)}), frozenset({(1, 3)})
    assert read("cook", 1, source, target, forward, reverse, "es") == "masculine"
    # In one direction only, the first word that a rule decides on counts.
    assert read("cook", 1, source, target, forward, frozenset(), "es") == "feminine"
    assert read("cook", 1, source, target, frozenset(), frozenset(), "es") is None


def test_a_rare_word_gives_way_to_a_usual_one() -> None:
    """In "the cook's hat" the cook may be linked with the hat."""
    source, target = "She found the cook's hat.", "Encontró la gorra del cocinero."
    item = WinoMTItem("1", "en", "male", "cook", 3, source)
    wrong = AlignedPair(
        tuple(tokenize_words(source)), tuple(tokenize_words(target)), frozenset({(3, 2)}), frozenset({(3, 2)})
    )
    rules = load_noun_rules("es")
    assert read_gender(item, target, wrong, rules).gender == "feminine"
    assert read_gender(item, target, wrong, rules, {"cocin"}).gender == "masculine"
    right = replace(wrong, forward=frozenset({(3, 4)}), reverse=frozenset({(3, 4)}))
    # Usual words that are already linked, or do not occur, change nothing.
    assert read_gender(item, target, right, rules, {"cocin", "gorra"}).gender == "masculine"
    assert read_gender(item, target, wrong, rules, {"cocin", "gorra"}).gender == "feminine"
    assert read_gender(item, target, wrong, rules, {"chef"}).gender == "feminine"


def test_usual_words_are_linked_in_a_twentieth_of_the_sentences() -> None:
    item = WinoMTItem("1", "en", "male", "cook", 1, "The cook sang.")
    links = frozenset({(1, 1)})
    nouns = ["COCINERO"] * 60 + ["cocinera"] * 33 + ["chef"] * 5 + ["gorra"] * 4 + ["gato"] * 2
    pairs = [
        AlignedPair(tuple(tokenize_words(item.sentence)), tuple(tokenize_words(f"el {noun} cantó")), links, links)
        for noun in nouns
    ]
    assert find_usual_words([item] * 104, pairs) == {"cook": {"cocin"}}
    assert find_usual_words([item] * 100, pairs[4:]) == {"cook": {"cocin", "chef"}}
    assert find_usual_words([item] * 11, pairs[-11:]) == {"cook": {"chef", "gorra"}}


def test_all_words_of_an_entity_are_looked_up() -> None:
    source, target = "The (young) tree surgeon's hat.", "El sombrero de la cirujana de árboles."
    item = WinoMTItem("1", "en", "female", "tree surgeon", 2, source)
    assert find_entity_tokens(item) == {2, 3}
    links = frozenset({(2, 6), (3, 4)})
    assert read("tree surgeon", 2, source, target, links, links, "es") == "feminine"


def test_an_elided_article_keeps_its_apostrophe() -> None:
    for target, gender in (("Vide un’insegnante.", "feminine"), ("Vide un insegnante.", "masculine")):
        links = frozenset({(3, 2)})
        assert read("teacher", 3, "He saw a teacher.", target, links, links, "it") == gender


def test_a_run_of_a_chat_model(items: str) -> None:
    def translate(prompt: str, _sample: int) -> str:
        text = json.loads(next(line for line in prompt.splitlines() if line.startswith("Text:"))[len("Text:") :])
        return json.dumps({"translation": SPANISH[text]})

    with chat_serving(ChatServer(translate)) as name:
        result = evaluate_translator(name, on=items)
    values = {record.measure: record.value for record in result.records if record.view == "all"}
    assert values["WinoMT acc"] == pytest.approx(40)


def test_a_run_of_a_system(items: str, tmp_path: Path) -> None:
    fake = FakeTranslator(say=SPANISH.__getitem__, key=f"fake {tmp_path}")
    result = evaluate_translator(fake, on=items, out=tmp_path / "run")
    values = {record.measure: record.value for record in result.records if record.view == "all"}
    # Correct: the male gardener and the female florist. The gender of "Su chef" is unknown and counts as wrong.
    assert values["WinoMT acc"] == pytest.approx(40)
    assert values["delta_S"] == 100
    assert values["untold"] == 20
    assert values["delta_G"] == 0
    cues = dict(zip(result.scores["item"], result.scores["candidate"], strict=True))
    assert cues["0"] == "El jardinero"
    assert any("aligned" in note for note in result.manifest.notes)
    assert result.manifest.data[0].item_language == "en"


def test_languages_without_rules_and_other_methods_are_rejected(items: str) -> None:
    fake = FakeTranslator()
    with raises_mentioning(UsageError, "Ukrainian"):
        evaluate_translator(fake, on=items.replace(":es", ":uk"))
    with raises_mentioning(UsageError, "WinoMT", "remove --gender-from"):
        evaluate_translator(fake, on=items, gender_from="stanza")
    assert not fake.sent


def test_a_missing_aligner_is_reported_before_anything_is_sent(items: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winomt, "find_aligner", lambda: None)
    fake = FakeTranslator()
    with raises_mentioning(ModelError, "pip install 'tiltmeter[align]'"):
        evaluate_translator(fake, on=items)
    assert not fake.sent


def test_the_command_line_with_lines_as_released(
    items: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "en-es.txt"
    lines = [f"{source} ||| {translation}\n" for source, translation in SPANISH.items()]
    path.write_text("".join(lines), encoding="utf-8")
    options = ["--translations", str(path), "--system", "Sys", "--out", str(tmp_path / "run"), "--report"]
    assert command(monkeypatch, "run", *options, "--on", items) == 0
    assert "delta_S" in capsys.readouterr().out
    assert (tmp_path / "run" / "report.html").is_file()
    assert command(monkeypatch, "run", "embedded", "--on", "winomt:es") == 2
    assert "not both" in capsys.readouterr().err
    assert command(monkeypatch, "show", str(tmp_path / "run")) == 0


def test_a_line_without_a_divider(items: str, tmp_path: Path) -> None:
    path = tmp_path / "en-es.txt"
    path.write_text("One. ||| Uno.\n\nTwo. Dos.\n", encoding="utf-8")
    with raises_mentioning(DataError, "en-es.txt, line 3", "|||"):
        score_translations(path, system="Sys", on=items)
