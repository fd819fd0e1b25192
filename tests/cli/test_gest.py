"""The command `tiltmeter gest`."""

import csv
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from tests.runs.made import association_scores, gest_scores, run, winobias_scores
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.api import load_run
from tiltmeter.cli.gest import app
from tiltmeter.datasets import load, load_file
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.gest import GestItem


def tiltmeter(*arguments: object) -> Result:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def translations(tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two translations of a sentence that is the same in both editions; their meaning does not matter."""
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    editions = zip(load("gest", None, "en"), load("gest-1.0", None, "en"), strict=True)
    *_, sentence = (new.sentence for new, old in editions if new == old)  # type: ignore[union-attr]
    path = tmp_path / "sk.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["from", "to"])
        rows.writerow([sentence, "Bol som doma."])
        rows.writerow([f'She said: "{sentence}"', "Povedala: „Bola som doma.“"])
    return path


def test_pairs_are_built_and_rejections_are_counted(translations: Path) -> None:
    out = translations.with_suffix(".jsonl")
    arguments = ("pairs", "build", translations, "--language", "sk", "--system", "DeepL", "--out", out)
    lines = tiltmeter(*arguments).output.splitlines()
    assert lines[0].split() == ["3565", "sentences"]
    assert lines[1].split()[:2] == ["-3564", "because"]
    assert lines[-1].split() == ["1", "pairs"]
    (pair,) = load_file(out)
    assert (pair.male, pair.female, pair.translator) == ("Bol som doma.", "Bola som doma.", "DeepL")  # type: ignore[union-attr]
    with raises_mentioning(UsageError, str(out), "--force"):
        tiltmeter(*arguments)
    tiltmeter(*arguments, "--force", "--edition", "1.0")


def test_invalid_requests_for_pairs(translations: Path) -> None:
    with raises_mentioning(UsageError, "pairs.csv", ".jsonl"):
        tiltmeter("pairs", "build", translations, "--language", "sk", "--out", "pairs.csv")
    out = translations.with_name("o.jsonl")
    with raises_mentioning(UsageError, "'de'"):
        tiltmeter("pairs", "build", translations, "--language", "de", "--out", out)
    with raises_mentioning(UsageError, "no edition '2'"):
        tiltmeter("pairs", "build", translations, "--language", "sk", "--out", out, "--edition", "2")
    translations.write_text("from,to\nI sang.,Spieval som.\n", encoding="utf-8")
    with raises_mentioning(UsageError, "No pairs were built"):
        tiltmeter("pairs", "build", translations, "--language", "sk", "--out", out)
    assert not out.exists()


def test_validity_over_several_runs(tmp_path: Path) -> None:
    families = {"gest": "gest", "winobias": "winobias"}
    for seed, (model, lean) in enumerate({"a": 0.0, "b": 0.2, "c": 0.5, "d": 0.9}.items()):
        scores = gest_scores(model, seed=seed, lean=lean, n=192, parts=("template-1", "template-3"))
        run(scores, winobias_scores(model, seed=seed), family=families).save(tmp_path / model)
    folders = [tmp_path / model for model in "abcd"]
    lines = tiltmeter("validity", *folders).output.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["a", "b", "c", "d"]
    assert lines[-1].startswith("Pearson's r ")
    assert lines[-1].endswith(", 4 models")
    assert tiltmeter("validity", *folders, "--as-published").output != tiltmeter("validity", *folders).output
    other = gest_scores("e", seed=9, lean=0.3, n=192, parts=("template-3",))
    run(other, winobias_scores("e", seed=9), family=families, kind="causal").save(tmp_path / "e")
    assert "(causal, masked)" in tiltmeter("validity", *folders, tmp_path / "e").output.splitlines()[-1]
    with raises_mentioning(UsageError, "no part 'dev'"):
        tiltmeter("validity", *folders, "--part", "dev")
    with raises_mentioning(DataError, "1 models have both"):
        tiltmeter("validity", folders[0])


@pytest.fixture
def themed(tmp_path: Path) -> Path:
    """A run in which every third sentence is about cats, and every fifth has a negation."""
    scores = gest_scores(n=160)
    result = run(scores, family="gest")
    texts = [
        f"I {'never ' if number % 5 == 0 else ''}like {'cats' if number % 3 == 0 else 'dogs'}." for number in range(160)
    ]
    items = pd.DataFrame({"item": scores["item"], "context": texts, "texts": [[] for _ in texts]})
    items = items.assign(benchmark="gest", part="all", language="en", form="gest")
    return replace(result, texts=items).save(tmp_path / "run")


def test_sentences_with_words_of_a_topic_or_a_negation(themed: Path, tmp_path: Path) -> None:
    words = tmp_path / "cats.txt"
    words.write_text("Cats\n\nkittens\n", encoding="utf-8")
    lines = tiltmeter("theme", themed, "--theme", words).output.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "made/one gest/template-3:en, stereotypes about women",
        "made/one gest/template-3:en, stereotypes about men",
    ]
    about_women = [number for number in range(160) if number % 16 < 7]
    with_words = sum(number % 3 == 0 for number in about_women)
    assert_mentions(lines[0], f"{with_words} sentences with", f"{len(about_women) - with_words} without")
    negated = sum(number % 5 == 0 for number in about_women)
    assert_mentions(tiltmeter("theme", themed, "--negation").output, f"{negated} sentences with")


def test_a_theme_of_a_run_with_other_benchmarks(themed: Path, tmp_path: Path) -> None:
    alone = load_run(themed)
    others = [winobias_scores("made/one", seed=1), association_scores()]
    families = {"gest": "gest", "winobias": "winobias", "stereoset": "association"}
    both = run(alone.scores, *others, family=families)
    mixed = replace(both, texts=alone.texts).save(tmp_path / "mixed")
    assert tiltmeter("theme", mixed, "--negation").output == tiltmeter("theme", themed, "--negation").output
    without = run(*others, family=families)
    with raises_mentioning(UsageError, "without", "`gest`"):
        tiltmeter("theme", replace(without, texts=alone.texts).save(tmp_path / "without"), "--negation")


def test_invalid_themes(themed: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("\n", encoding="utf-8")
    with raises_mentioning(UsageError, str(words), "no words"):
        tiltmeter("theme", themed, "--theme", words)
    words.write_text("submarines", encoding="utf-8")
    with raises_mentioning(UsageError, str(themed), "both with and without"):
        tiltmeter("theme", themed, "--theme", words)
    with raises_mentioning(UsageError, "either --theme"):
        tiltmeter("theme", themed)
    bare = run(gest_scores(), family="gest").save(tmp_path / "bare")
    with raises_mentioning(UsageError, str(bare), "`gest`"):
        tiltmeter("theme", bare, "--negation")


def test_the_sentences_to_translate_are_written(tmp_path: Path) -> None:
    file = tmp_path / "sentences.csv"
    words = ("sentences", "starter-neutral-mt:tr-en", "--out", file)
    assert tiltmeter(*words).exit_code == 0
    with file.open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    texts = {row["from"] for row in rows}
    assert len(texts) == len(rows)
    assert all(row["to"] == "" for row in rows)
    assert {item.sentence for item in load("starter-neutral", None, "tr") if isinstance(item, GestItem)} <= texts
    with raises_mentioning(UsageError, "sentences.csv", "--force"):
        tiltmeter(*words)
