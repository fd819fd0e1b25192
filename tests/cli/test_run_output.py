"""Output of `run` and `show`: `--quiet`, `--json`, the report and the strongest items; the list of protocols."""

import json
from pathlib import Path

import pytest
from transformers import GPT2Config, GPT2LMHeadModel

from tests.models.tiny import made
from tests.models.tiny_tokenizers import byte_level
from tests.support.command import command
from tests.support.messages import assert_mentions


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder, tokenizer = tmp_path_factory.mktemp("output") / "tiny", byte_level()
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=256)
    made(lambda: GPT2LMHeadModel(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def test_quiet_prints_nothing_and_writes_everything(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = ["run", model, "--on", "starter/intrasentence:en", "--limit", "4", "--out", str(tmp_path / "run")]
    assert command(monkeypatch, *run, "--quiet") == 0
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert (tmp_path / "run" / "manifest.json").is_file()
    assert (tmp_path / "run" / "report.html").is_file()
    assert command(monkeypatch, "show", str(tmp_path / "run"), "--top", "2") == 0
    assert "Strongest items of" in capfd.readouterr().out
    assert command(monkeypatch, "show", str(tmp_path / "run"), "--top", "2", "--csv") == 2
    assert "--top" in capfd.readouterr().err


def test_json_is_all_that_goes_to_standard_output(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = ["run", model, "--on", "starter/intrasentence:en", "--limit", "4", "--json"]
    assert command(monkeypatch, *run, "--out", str(tmp_path / "run"), "--no-report") == 0
    numbers = json.loads(capfd.readouterr().out)
    assert {"SS", "LMS", "ICAT"} <= {number["measure"] for number in numbers}
    assert not (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--quiet"], ["--quiet", "--out"]),
        (["--quiet", "--json", "--out", "x"], ["--quiet and --json"]),
        (["--report"], ["--report", "--out"]),
    ],
)
def test_options_without_any_output_are_rejected(
    options: list[str], parts: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "run", "embedded", *options) == 2
    assert_mentions(capsys.readouterr().err, *parts)


def test_protocols_are_listed_by_form(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(monkeypatch, "protocols") == 0
    everything = capsys.readouterr().out
    assert all(name in everything for name in ("published/c:", "within-word-l2r:", "forced-choice:", "association\n"))
    assert command(monkeypatch, "protocols", "crows-pairs") == 0
    some = capsys.readouterr().out
    assert "aula:" in some
    assert "in-context" not in some
    assert command(monkeypatch, "protocols", "crows-pair") == 2
    assert "crows-pairs" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["protocols"], ["data", "list"], ["data", "list", "starter"]])
def test_lists_fit_a_narrow_terminal(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, *words, columns=60) == 0
    narrow = capsys.readouterr().out
    assert all(len(line) <= 60 for line in narrow.splitlines() if "/" not in line)  # paths stay whole
    assert command(monkeypatch, *words) == 0
    whole = capsys.readouterr().out
    assert whole.split() == narrow.split()
    assert len(whole.splitlines()) < len(narrow.splitlines())
