"""`tiltmeter items --predictions`: files that are skipped, and models that count once."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions
from tiltmeter.datasets import load
from tiltmeter.runs.scoring_methods import infer_model_name


def write(folder: Path, stem: str, seed: int, **more: float) -> Path:
    rng = np.random.default_rng(seed)
    scores = {c.id: float(rng.random()) for item in load("starter", "intrasentence", "en") for c in item.candidates}
    path = folder / f"{stem}.json"
    entries = [{"id": name, "score": score} for name, score in (scores | more).items()]
    path.write_text(json.dumps({"intrasentence": entries}), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, name in enumerate(("bert_BertLM_BertNextSentence", "gpt2_GPT2LM_GPT2LM_d", "mine")):
        write(tmp_path, f"{name}_en", seed)
    return tmp_path


def listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict, str]:
    assert command(monkeypatch, "items", "--predictions", *words, "--json") == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def test_files_that_cannot_be_used_are_skipped_and_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, "strange_en", 7, unknown=0.5)
    (folder / "torn_en.json").write_text("{", encoding="utf-8")
    write(folder, "nameless", 8)
    found, err = listed(monkeypatch, capsys, str(folder), "--on", "starter")
    assert {tuple(panel["models"]) for panel in found["panels"]} == {("bert", "gpt2", "mine")}
    assert_mentions(err, "strange_en.json", "1 of the", "torn_en.json", "nameless.json", "language")
    assert err.count("Skipped") == 3


def test_the_language_can_be_given_for_all_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, "predictions_xlnet_ModelNSP_XLNetLM", 8)
    found, err = listed(monkeypatch, capsys, str(folder), "--on", "starter:en")
    assert {tuple(panel["models"]) for panel in found["panels"]} == {("bert", "gpt2", "mine", "xlnet")}
    assert "Skipped" not in err


def test_protocols_and_copies_of_one_model_count_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, _ = listed(monkeypatch, capsys, str(folder), "--on", "starter")
    write(folder, "gpt2_GPT2LM_GPT2LM_c_en", 9)  # another protocol
    write(folder, "renamed_en", 0)  # the answers of bert
    after, _ = listed(monkeypatch, capsys, str(folder), "--on", "starter")
    models = {tuple(panel["models"]) for panel in after["panels"]}
    assert len(models) == 1
    assert {len(names) for names in models} == {3}
    notes = " ".join(after["notes"])
    assert_mentions(notes, "counts once", "renamed_en")
    assert len(before["panels"]) == len(after["panels"])


def test_nothing_usable_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "items", "--predictions", str(tmp_path), "--on", "starter") == 2
    assert_mentions(capsys.readouterr().err, str(tmp_path), ".json")
    (tmp_path / "torn_en.json").write_text("{", encoding="utf-8")
    assert command(monkeypatch, "items", "--predictions", str(tmp_path), "--on", "starter") == 2
    assert_mentions(capsys.readouterr().err, "torn_en.json", "None of the 1 file")


@pytest.mark.parametrize(
    ("stem", "model"),
    [
        ("flaubert_flaubert_base_cased_BertLM_BertNextSentence_fr", "flaubert_flaubert_base_cased"),
        ("THUMT_mGPT__GPT2LM_orig_de", "THUMT_mGPT"),
        ("predictions_xlnet-base-cased_ModelNSP_XLNetLM", "xlnet-base-cased"),
        ("my-own-gpt2", "my-own-gpt2"),
    ],
)
def test_names_of_models_from_file_names(stem: str, model: str) -> None:
    assert infer_model_name(stem) == model
