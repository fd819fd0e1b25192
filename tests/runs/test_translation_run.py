"""Runs from files of translations and from translation systems, with synthetic sentences."""

import csv
import json
import math
import shutil
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.models.chat_served import ChatServer, chat_serving
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tests.translators.fake import FakeTranslator
from tiltmeter.api import report
from tiltmeter.datasets import load
from tiltmeter.errors import DataError, ModelError, UsageError
from tiltmeter.forms.gest import GestItem
from tiltmeter.runs import translation_run as module
from tiltmeter.runs.result import Result
from tiltmeter.runs.translation_run import evaluate_translator, score_translations
from tiltmeter.translators.translator_protocol import Price

SENTENCES = [
    ("a", 1, "I wept at the opera."),
    ("b", 3, "I cared for the whole family."),
    ("c", 8, "I carried the piano."),
    ("d", 12, "I provided for my children."),
    ("e", 13, "I led the meeting."),
    ("f", 7, "I have blue eyes."),
]
SLOVAK = {
    "I wept at the opera.": "V opere som plakala.",
    "I cared for the whole family.": "Starala som sa o celú rodinu.",
    "I carried the piano.": "Niesol som klavír.",
    "I provided for my children.": "Živil som svoje deti.",
    "I led the meeting.": "Viedol som schôdzu.",
    "I have blue eyes.": "Mám modré oči.",
}


@pytest.fixture
def sentences(tmp_path: Path) -> str:
    path = tmp_path / "mine.jsonl"
    rows = [{"id": i, "language": "en", "stereotype": n, "sentence": text} for i, n, text in SENTENCES]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return f"{path}:sk"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Sequence[tuple[str, str]]], Path]:
    def written(rows: Sequence[tuple[str, str]]) -> Path:
        path = tmp_path / "made.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("from", "to"), *rows])
        return path

    return written


def values(result: Result) -> dict[tuple[str, str], float]:
    return {(record.group, record.measure): record.value for record in result.records}


def test_a_file_of_translations(sentences: str, write, tmp_path: Path) -> None:
    path = write(list(SLOVAK.items()))
    result = score_translations(path, system="Sys", on=sentences, out=tmp_path / "run")
    scores = result.scores.set_index("item")
    assert scores["score"].fillna(-1).to_dict() == {"a": 0, "b": 0, "c": 1, "d": 1, "e": 1, "f": -1}
    assert math.isnan(scores.loc["f", "score"])
    assert set(scores["role"]) == {"speaker_gender"}
    assert set(scores["model"]) == {"Sys"}
    assert set(scores["protocol"]) == {"rules"}
    assert set(scores["language"]) == {"sk"}
    assert scores["stereotype"].to_dict() == {"a": 1, "b": 3, "c": 8, "d": 12, "e": 13, "f": 7}
    assert scores["family_words"].to_dict() == {"a": False, "b": True, "c": False, "d": True, "e": False, "f": False}
    assert scores.loc["a", "translation"] == "V opere som plakala."
    assert "plakala" in scores.loc["a", "candidate"]
    assert values(result)["all", "yield"] == pytest.approx(5 / 6)
    assert values(result)["all", "f_s"] > 0
    assert values(result)["male stereotypes", "p_fam"] == values(result)["12", "p_i"]

    read = Result.load(tmp_path / "run")
    assert read.records == result.records
    assert read.scores["score"].isna().sum() == 1
    assert read.manifest.models[0].details["translated"] == 6
    assert read.manifest.notes == ()


def test_sources_are_matched_after_normalisation(sentences: str, write) -> None:
    rows = [(f"  {unicodedata.normalize('NFD', source)} ".replace(" ", "  "), to) for source, to in SLOVAK.items()]
    assert len(score_translations(write(rows), system="Sys", on=sentences).scores) == 6


def test_unmatched_sources_are_counted(sentences: str, write) -> None:
    rows = list(SLOVAK.items())[:4]
    rows += [("I wept at the opera.", "V opere som plakal."), ("I slept.", "Spal som."), ("I led the meeting.", " ")]
    result = score_translations(write(rows), system="Sys", on=sentences)
    about = result.manifest.models[0].details
    assert {name: about[name] for name in ("translated", "missing", "unmatched", "duplicates")} == {
        "translated": 4,
        "missing": 2,
        "unmatched": 1,
        "duplicates": 1,
    }
    assert {(skip.item, skip.reason) for skip in result.manifest.skipped} == {
        ("e", "the file has no translation of this item"),
        ("f", "the file has no translation of this item"),
    }
    assert [note.partition(" in ")[0] for note in result.manifest.notes] == ["1 sources", "1 sources"]
    assert result.scores.set_index("item").loc["a", "score"] == 1


def test_the_edition_is_inferred_from_the_file(mirror: Path, write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    old, new = (
        [item for item in load(name, None, "en") if isinstance(item, GestItem)] for name in ("gest-1.0", "gest")
    )
    changed = [number for number, (first, second) in enumerate(zip(old, new, strict=True)) if first != second]
    chosen = [*range(0, len(old), 100), *changed[:5]]
    for items, edition in ((old, "1.0"), (new, "1.1")):
        path = write([(items[number].sentence, "Bol som doma.") for number in chosen])
        result = score_translations(path, system="Sys", on="gest-mt:sk")
        assert {entry.edition for entry in result.manifest.data} == {edition}
        assert result.manifest.data[0].benchmark == "gest-mt"
        assert any(f"edition {edition}" in note for note in result.manifest.notes)
        second = "1.0" if edition == "1.1" else "1.1"
        forced = score_translations(path, system="Sys", on="gest-mt:sk", edition=second)
        assert len(result.scores) - len(forced.scores) >= 5


def test_a_file_without_matches_is_an_error(sentences: str, write, tmp_path: Path) -> None:
    with raises_mentioning(DataError, "made.csv", "mine.jsonl", "`from`"):
        score_translations(write([("I slept.", "Spal som.")]), system="Sys", on=sentences)
    with raises_mentioning(DataError, "made.csv", "column `to`"):
        score_translations(write([("I wept at the opera.", "")]), system="Sys", on=sentences)
    (tmp_path / "odd.csv").write_text("source,target\na,b\n")
    with raises_mentioning(DataError, "odd.csv", "from and to"):
        score_translations(tmp_path / "odd.csv", system="Sys", on=sentences)


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("gest-mt", "gest-mt:es"),
        ("gest-mt:sk,uk", "for one language"),
        ("stereoset-mt:sk", "use gest-mt"),
        ("stereoset:de", "use gest-mt"),
        ("starter-gest-mt:es", "does not support 'es'"),
    ],
)
def test_invalid_specifications_are_errors(
    on: str, message: str, write, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    known = [item.sentence for item in load("starter-gest", None, "en") if isinstance(item, GestItem)][:1]
    with raises_mentioning(UsageError, message):
        score_translations(write([(known[0], "Plakala som.")]), system="Sys", on=on)


def conllu(text: str, gender: str) -> str:
    lines = [
        f"# text = {text}",
        f"1\tword\tword\tVERB\t_\tGender={gender}|Number=Sing|VerbForm=Part\t0\troot\t_\t_",
        "2\tsom\tbyť\tAUX\t_\tNumber=Sing|Person=1\t1\taux\t_\t_",
    ]
    return "\n".join(lines) + "\n\n"


def test_gender_from_a_conllu_file(sentences: str, write, tmp_path: Path) -> None:
    two = SLOVAK | {"I led the meeting.": "Viedol som schôdzu. Bolo to v pondelok."}
    parse = "".join(conllu(text, "Fem") for text in list(SLOVAK.values())[:3])
    parse += conllu("Viedol som schôdzu.", "Masc") + conllu("Bolo to v pondelok.", "Fem")
    path = tmp_path / "parsed.conllu"
    path.write_text(parse, encoding="utf-8")
    result = score_translations(write(list(two.items())), system="Sys", on=sentences, gender_from=str(path))
    assert result.scores.set_index("item")["score"].to_dict() == {"a": 0, "b": 0, "c": 0, "e": 1}
    assert set(result.scores["protocol"]) == {"conllu"}
    assert {skip.reason for skip in result.manifest.skipped} == {"the CoNLL-U file has no parse of its translation"}
    with raises_mentioning(UsageError, "--gender-from wishes", "CoNLL-U"):
        score_translations(write(list(two.items())), system="Sys", on=sentences, gender_from="wishes")


def test_sources_beyond_the_limit_are_not_unmatched(sentences: str, write) -> None:
    result = score_translations(write(list(SLOVAK.items())), system="Sys", on=sentences, limit=2)
    assert len(result.scores) == 2
    assert result.manifest.models[0].details["unmatched"] == 0
    with raises_mentioning(UsageError, "0 items", "--limit"):
        score_translations(write(list(SLOVAK.items())), system="Sys", on=sentences, limit=0)


def test_evaluate_a_translator(sentences: str, tmp_path: Path) -> None:
    translator = FakeTranslator(say=SLOVAK.__getitem__)
    result = evaluate_translator(translator, on=sentences, out=tmp_path / "run")
    assert set(result.scores["model"]) == {"fake"}
    assert result.scores["score"].count() == 5
    (about,) = [model.details for model in Result.load(tmp_path / "run").manifest.models]
    assert about["sent"] == {"sk": 6}
    assert about["characters"] == sum(map(len, SLOVAK))
    assert about["made"]["sk"]
    again = FakeTranslator(say=SLOVAK.__getitem__)
    named = evaluate_translator(again, on=sentences, system="Named", limit=3)
    assert not again.sent
    assert set(named.scores["model"]) == {"Named"}
    assert len(named.scores) == 3


def test_a_chat_model_is_measured_like_any_system(sentences: str) -> None:
    def translate(prompt: str, _sample: int) -> str:
        text = json.loads(next(line for line in prompt.splitlines() if line.startswith("Text:"))[len("Text:") :])
        return "I do not know." if "piano" in text else json.dumps({"translation": SLOVAK[text]})

    with chat_serving(ChatServer(translate)) as name:
        result = evaluate_translator(name, on=sentences)
    assert set(result.scores["model"]) == {name}
    assert dict(zip(result.scores["item"], result.scores["translation"], strict=True)) == {
        item: SLOVAK[text] for item, _, text in SENTENCES if item != "c"
    }
    assert [(e.item, e.reason) for e in result.manifest.skipped if e.item == "c"] == [("c", module.NO_TRANSLATION)]


def test_a_system_without_any_gender_has_a_report(sentences: str, tmp_path: Path) -> None:
    result = evaluate_translator(FakeTranslator(key="neutral", say=lambda _text: "Mám modré oči."), on=sentences)
    report({"neutral": result}, tmp_path / "report.html")
    assert "none of them has a score" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_untranslated_sentences_are_listed(sentences: str) -> None:
    given = {**SLOVAK, "I led the meeting.": None, "I carried the piano.": ""}
    result = evaluate_translator(FakeTranslator(say=given.__getitem__), on=sentences)  # type: ignore[arg-type]
    assert set(result.scores["item"]) == {"a", "b", "d", "f"}
    assert {(e.item, e.reason) for e in result.manifest.skipped if e.item in "ce"} == {
        ("c", module.NO_TRANSLATION),
        ("e", module.NO_TRANSLATION),
    }
    with raises_mentioning(DataError, "6 items", "system returned no translation"):
        evaluate_translator(FakeTranslator(key="mute", say=lambda _text: ""), on=sentences)


def test_a_failed_translation_run_resumes(sentences: str) -> None:
    broken = FakeTranslator(say=SLOVAK.__getitem__, breaks_at="I led the meeting.")
    with raises_mentioning(ModelError, "The line went dead.", "same command"):
        evaluate_translator(broken, on=sentences)
    mended = FakeTranslator(say=SLOVAK.__getitem__)
    evaluate_translator(mended, on=sentences)
    assert sorted(broken.sent + mended.sent) == sorted(SLOVAK)


def test_several_languages(sentences: str) -> None:
    def either(_text: str) -> str:
        return "Bola som doma."

    result = evaluate_translator(FakeTranslator(say=either), on=sentences.replace(":sk", ":sk,cs"))
    assert set(result.scores["language"]) == {"sk", "cs"}
    assert len(result.manifest.data) == 2
    assert {record.language for record in result.records if record.view == "pairs"} == {"all"}


def test_errors_come_before_anything_is_sent(sentences: str) -> None:
    translator = FakeTranslator(price=Price(20.0, "USD", "a list"), say=SLOVAK.__getitem__)
    with raises_mentioning(UsageError, "--yes"):
        evaluate_translator(translator, on=sentences)
    with raises_mentioning(UsageError, "--gender-from rules", "'de'"):
        evaluate_translator(translator, on=sentences.replace(":sk", ":de"), yes=True)
    assert not translator.sent
    evaluate_translator(translator, on=sentences, yes=True)
    assert len(translator.sent) == 6
    # Cached translations cost nothing and need no consent.
    evaluate_translator(translator, on=sentences)


def test_the_command_scores_a_file(
    sentences: str, write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write([*SLOVAK.items(), ("I slept.", "Spal som.")])
    options = ["run", "--translations", str(path), "--system", "Sys", "--on", sentences, "--out", str(tmp_path / "run")]
    assert command(monkeypatch, *options) == 0
    printed = capsys.readouterr()
    assert "f_s" in printed.out
    assert_mentions(printed.err, "1 sources in made.csv")
    assert (tmp_path / "run" / "scores.parquet").is_file()
    assert command(monkeypatch, "show", str(tmp_path / "run")) == 0
    assert_mentions(capsys.readouterr().err, "1 sources in made.csv")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--on", "gest-mt:sk"], "--translator"),
        (["--translations", "x.csv", "--on", "gest-mt:sk"], "--system"),
        (["--translator", "deepl", "--translations", "x.csv", "--on", "gest-mt:sk"], "cannot be combined"),
        (["gpt2", "--translator", "deepl", "--on", "gest-mt:sk"], "gpt2"),
        (["--translator", "deepl"], "exactly one benchmark"),
        (["--translator", "bing", "--on", "gest-mt:sk"], "not a translation system"),
        (["--translator", "fake", "--on", "starter-gest-mt:sk"], "--yes"),
    ],
)
def test_errors_are_one_sentence(
    words: list[str], part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real: Any = module.open_translator
    fake = FakeTranslator(price=Price(20.0, "USD", "a list"))
    monkeypatch.setattr(module, "open_translator", lambda name, **o: fake if name == "fake" else real(name, **o))
    assert command(monkeypatch, "run", *words) == 2
    printed = capsys.readouterr()
    assert not printed.out
    (line,) = printed.err.strip().splitlines()
    assert part in line
    assert line.endswith(".")
    assert not fake.sent


def test_apertium_end_to_end(tmp_path: Path, sentences: str) -> None:
    """There are no gender rules for Spanish, so the test provides a CoNLL-U parse."""
    if shutil.which("apertium") is None:
        pytest.skip("Apertium is not installed: apt install apertium apertium-eng-spa")
    from tiltmeter.translators.apertium import ApertiumTranslator

    try:
        translator = ApertiumTranslator("eng-spa")
    except UsageError as error:
        pytest.skip(str(error))
    parse = tmp_path / "spanish.conllu"
    made = translator.translate([text for _, _, text in SENTENCES], "es")
    parse.write_text("".join(conllu(" ".join(text.split()), "Masc") for text in made), encoding="utf-8")
    result = evaluate_translator("apertium:eng-spa", on=sentences.replace(":sk", ":es"), gender_from=str(parse))
    assert list(result.scores["translation"]) == made
    assert set(result.scores["score"]) == {1.0}
