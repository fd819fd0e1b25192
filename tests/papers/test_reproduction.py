"""The output of `tiltmeter reproduce` with the files of the mirror."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import T5ForConditionalGeneration

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DownloadError, UsageError
from tiltmeter.papers.printed_numbers import find_paper
from tiltmeter.papers.reproduction import ReproductionStatus, count_statuses, reproduce
from tiltmeter.training.released_heads import convert_released

AVAILABLE = {
    # paper: numbers that agree, numbers that differ for a known reason
    "oeztuerk2023": (145, 6),
    "oeztuerk2022": (85, 14),
    "steinborn2022": (14, 2),
    "strazda2025": (3, 0),
    "grigoreva2024": (208, 17),
    "nadeem2021": (99, 0),
    "stereoset-ptbr": (66, 0),
}
PREDICTIONS = "slds-lmu/stereotypes-multi/results/predictions"
DATA = "slds-lmu/stereotypes-multi/create_dataset/data"


@pytest.fixture
def own_mirror(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror with the English data and one file of predictions."""
    folder = tmp_path / "mirror"
    for part in ("intrasentence", "intersentence"):
        name = f"{DATA}/{part}/df_{part}_en.pkl"
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(mirror / name, folder / name)
    file = f"{PREDICTIONS}/bert-base-cased_BertLM_BertNextSentence_en.json"
    (folder / file).parent.mkdir(parents=True)
    shutil.copy(mirror / file, folder / file)
    monkeypatch.setenv("TILTMETER_MIRROR", str(folder))
    return folder


@pytest.mark.parametrize("key", AVAILABLE)
def test_no_number_differs_without_a_reason(key: str, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    result = reproduce(key)
    counts = count_statuses(outcome for outcome in result.outcomes if outcome.printed.kind == "value")
    assert counts[ReproductionStatus.DIFFERS] == 0
    # The mirror may have more files than when these counts were written, but never fewer.
    agree, known = AVAILABLE[key]
    assert counts[ReproductionStatus.AGREES] >= agree
    assert counts[ReproductionStatus.KNOWN] + counts[ReproductionStatus.TOLERATED] >= known
    assert result.has_only_known_differences


@pytest.mark.slow
def test_gest(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    result = reproduce("gest2024")
    assert result.has_only_known_differences
    tables = result.group_by_table(find_paper("gest2024"))
    expected = (("1", 16, 16), ("6", 0, 15), ("8", 150, 240), ("9", 128, 128), ("10", 64, 64), ("text", 19, 21))
    for table, agree, available in expected:
        counts = count_statuses(outcome for outcome in tables[table] if outcome.printed.kind == "value")
        assert counts[ReproductionStatus.AGREES] >= agree
        explained = counts[ReproductionStatus.KNOWN] + counts[ReproductionStatus.TOLERATED]
        assert counts[ReproductionStatus.AGREES] + explained >= available
    # Only translations are classified by rules; the values of language models follow from the released scores.
    assert not any(o.reason for table in ("9", "10") for o in tables[table] if o.printed.kind == "value")


def test_a_misprint_makes_the_command_fail(command: Any, misprint: Any) -> None:
    misprint("83.2", table="2", model="BERT", language="en", metric="LMS")
    result = command("oeztuerk2023", "--table", "2", "--model", "BERT", "--language", "en")
    assert result.exit_code == 1
    assert_mentions(result.stdout, "oeztuerk2023, Table 2, BERT", "en, LMS: printed 83.2", "recomputed 83.10")
    assert "83.2 ≠ 83.10" in result.stdout


def test_without_it_the_command_does_not_fail(command: Any) -> None:
    result = command("oeztuerk2023", "--table", "2", "--model", "BERT", "--language", "en")
    assert result.exit_code == 0
    assert "83.1 = 83.10" in result.stdout


@pytest.mark.parametrize(
    ("text", "table", "where"),
    [
        # Each of these cells has a known reason, but not for such numbers.
        ("78.24", "3", {"model": "mBERT", "language": "tr", "metric": "SS"}),
        ("60.19", "4", {"model": "T5", "language": "en", "metric": "SS"}),
    ],
)
def test_a_known_reason_excuses_only_what_it_explains(
    text: str, table: str, where: dict[str, str], command: Any, misprint: Any
) -> None:
    misprint(text, table=table, **where)
    assert command("oeztuerk2023", "--table", table, "--model", where["model"]).exit_code == 1


def test_an_interval_end_that_is_off(command: Any, misprint: Any) -> None:
    misprint("1.15", table="9", kind="lower end", system="bert-base", template="1", stereotype="1")
    result = command("gest2024", "--table", "9", "--model", "bert-base")
    assert result.exit_code == 1
    assert_mentions(result.stdout, "bert-base, en, 1, q_i", "lower end: printed 1.15")


def test_what_is_not_there_is_not_available(own_mirror: Path) -> None:
    result = reproduce("oeztuerk2023", table="2", language="en")
    counts = {status: number for status, number in count_statuses(result.outcomes).items() if number}
    assert counts == {ReproductionStatus.AGREES: 3, ReproductionStatus.ABSENT: 15}
    absent = [outcome for outcome in result.outcomes if outcome.status is ReproductionStatus.ABSENT]
    assert all(outcome.ours is None and outcome.source in outcome.note for outcome in absent)
    assert {name: used.known for name, used in result.files.items()} == {
        f"{PREDICTIONS}/bert-base-cased_BertLM_BertNextSentence_en.json": True
    }


def test_without_the_data_set_nothing_is_available(own_mirror: Path) -> None:
    (own_mirror / DATA / "intersentence" / "df_intersentence_en.pkl").unlink()
    result = reproduce("oeztuerk2023", table="3", language="en")
    assert {outcome.status for outcome in result.outcomes} == {ReproductionStatus.ABSENT}


def test_without_a_network_it_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from tiltmeter.datasets import http_download
    from tiltmeter.http_client.retries import TransientError

    monkeypatch.delenv("TILTMETER_MIRROR", raising=False)
    monkeypatch.setattr(http_download, "PAUSES", ())
    tries = []

    def refuse(*arguments: object, **options: object) -> None:
        tries.append(arguments)
        raise TransientError("no network")

    monkeypatch.setattr(http_download, "_receive_content", refuse)
    result = reproduce("oeztuerk2023", table="2")
    assert {outcome.status for outcome in result.outcomes} == {ReproductionStatus.ABSENT}
    assert all("cannot be reached" in outcome.note for outcome in result.outcomes)
    assert len(tries) == 1
    assert result.has_only_known_differences


def test_a_file_that_is_not_the_pinned_one_is_an_error(own_mirror: Path) -> None:
    (own_mirror / PREDICTIONS / "bert-base-cased_BertLM_BertNextSentence_en.json").write_text("{}")
    with raises_mentioning(DownloadError, "bert-base-cased_BertLM_BertNextSentence_en.json"):
        reproduce("oeztuerk2023", table="2", language="en")


def test_a_file_without_a_known_hash_is_used_and_said_to_be_so(own_mirror: Path, mirror: Path) -> None:
    # The content is that of another model; this test checks only that a file of this name is used.
    shutil.copy(
        mirror / PREDICTIONS / "bert-base-cased_BertLM_BertNextSentence_en.json",
        own_mirror / PREDICTIONS / "bert-base-multilingual-cased_BertLM_BertNextSentence_en.json",
    )
    result = reproduce("oeztuerk2023", table="2", model="mBERT", language="en")
    assert {name: used.known for name, used in result.files.items()} == {
        f"{PREDICTIONS}/bert-base-multilingual-cased_BertLM_BertNextSentence_en.json": False
    }
    assert not result.has_only_known_differences


def test_bad_usage(command: Any) -> None:
    for arguments, parts in (
        (["oeztuerk2023", "--table", "6"], ["table '6'", "2, 3, 4, 5", "7, 8, 9"]),
        (["gest2024", "--model", "bert"], ["model 'bert'"]),
        (["oeztuerk2022", "--language", "fr"], ["language 'fr'", "en, de"]),
        (["nobody2020"], ["paper 'nobody2020'"]),
        (["gest2024", "--model-path", "gpt2"], ["--model-path gpt2", "NAME=FOLDER"]),
    ):
        with raises_mentioning(UsageError, *parts):
            command(*arguments)


def test_json(command: Any) -> None:
    result = command("oeztuerk2022", "--table", "3.4", "--json")
    content = json.loads(result.stdout)
    assert content["holds"] is True
    numbers = {(entry["model"], entry["metric"]): entry for entry in content["numbers"]}
    wrong = numbers["GPT-2 generative orig", "ICAT"]
    assert (wrong["printed"], wrong["status"], wrong["reason"]) == (
        "55.6",
        "differs for a known reason",
        "icat-against-its-row",
    )
    assert numbers["GPT-2 generative b", "LMS"]["status"] == "not available"
    assert content["cross_checks"][0]["contradictions"][0]["printed"] == "55.6"


def test_the_page_is_written(command: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert command("oeztuerk2022", "--table", "3.4", "--markdown", str(page)).exit_code == 0
    assert "| 3.4 | GPT-2 generative orig, ICAT | 55.6 | 53.8 |" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_models_can_be_run_instead(command: Any, fixtures_dir: Path) -> None:
    result = command(
        "oeztuerk2023",
        *("--table", "2", "--model", "T5", "--language", "en", "--from-models"),
        *("--model-path", f"t5-base={fixtures_dir / 't5-tiny'}", "--device", "cpu", "--json"),
    )
    numbers = json.loads(result.stdout)["numbers"]
    assert [entry["source"] for entry in numbers] == ["t5-base on stereoset/intrasentence:en"] * 3
    # The tiny model is not the model of the paper, so its numbers differ.
    assert {entry["status"] for entry in numbers} == {"differs"}
    assert all(0 < entry["ours"] < 100 for entry in numbers)
    assert result.exit_code == 1


@pytest.mark.slow
def test_a_next_sentence_head_can_be_given(command: Any, fixtures_dir: Path, tmp_path: Path) -> None:
    base = str(fixtures_dir / "t5-tiny")
    state = {
        f"module.core_model.{n}": v for n, v in T5ForConditionalGeneration.from_pretrained(base).state_dict().items()
    }
    torch.save({"model_state_dict": state}, tmp_path / "t5.pth")
    convert_released(tmp_path / "t5.pth", base, tmp_path / "head")
    result = command(
        "oeztuerk2023",
        *("--table", "3", "--model", "T5", "--language", "en", "--from-models"),
        *("--head-path", f"t5-base={tmp_path / 'head'}", "--device", "cpu", "--json"),
    )
    numbers = json.loads(result.stdout)["numbers"]
    assert {entry["source"] for entry in numbers} == {"t5-base on stereoset/intersentence:en"}
    assert {entry["status"] for entry in numbers} == {"differs"}
    assert result.exit_code == 1
