"""The command `tiltmeter gest`."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.runs.made import gest_scores, run, winobias_scores
from tiltmeter.cli.gest import app
from tiltmeter.datasets import load, load_file
from tiltmeter.errors import DataError, UsageError


def tiltmeter(*arguments: object) -> Result:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def translations(tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two translations of a sentence that is the same in both editions; their meaning does not matter here."""
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


def test_pairs_are_built_and_what_was_lost_is_told(translations: Path) -> None:
    out = translations.with_suffix(".jsonl")
    arguments = ("pairs", "build", translations, "--language", "sk", "--system", "DeepL", "--out", out)
    lines = tiltmeter(*arguments).output.splitlines()
    assert lines[0].split() == ["3565", "sentences"]
    assert lines[1].split(maxsplit=2) == [
        "-3564",
        "because",
        "there is no translation of the sentence by itself",
    ]
    assert lines[-1].split() == ["1", "pairs"]
    (pair,) = load_file(out)
    assert (pair.male, pair.female, pair.translator) == ("Bol som doma.", "Bola som doma.", "DeepL")  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="already exists; --force replaces it"):
        tiltmeter(*arguments)
    tiltmeter(*arguments, "--force", "--edition", "1.0")


def test_what_cannot_be_built(translations: Path) -> None:
    with pytest.raises(UsageError, match=r"should end in \.jsonl"):
        tiltmeter("pairs", "build", translations, "--language", "sk", "--out", "pairs.csv")
    out = translations.with_name("o.jsonl")
    with pytest.raises(UsageError, match="'de'"):
        tiltmeter("pairs", "build", translations, "--language", "de", "--out", out)
    with pytest.raises(UsageError, match="no edition '2'"):
        tiltmeter("pairs", "build", translations, "--language", "sk", "--out", out, "--edition", "2")
    translations.write_text("from,to\nI sang.,Spieval som.\n", encoding="utf-8")
    with pytest.raises(UsageError, match="No pairs were built"):
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
    with pytest.raises(UsageError, match="no part 'dev'"):
        tiltmeter("validity", *folders, "--part", "dev")
    with pytest.raises(DataError, match="1 models have both"):
        tiltmeter("validity", folders[0])
