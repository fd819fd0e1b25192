"""Plan files: valid content, and the errors for invalid content."""

from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.cluster.plan_cells import make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.errors import TiltmeterError

GOOD = 'benchmarks = ["starter"]\n[[models]]\nname = "embedded"\n'


def plan(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("benchmarks = [", ["TOML"]),
        ('benchmark = ["starter"]\n[[models]]\nname = "x"', ["'benchmark'", "mean benchmarks?"]),
        ('benchmarks = ["starter"]', ["[[models]]"]),
        ('benchmarks = ["starter"]\nmodels = ["x"]', ["[[models]]"]),
        ('[[models]]\nname = "x"', ["benchmarks = ["]),
        ('benchmarks = "starter"\n[[models]]\nname = "x"', ["benchmarks", "list of texts", "'starter'"]),
        ('benchmarks = ["starter", "starter"]\n[[models]]\nname = "x"', ["benchmarks", "'starter' twice"]),
        ('benchmarks = ["starter"]\nlimit = 0\n[[models]]\nname = "x"', ["limit must be", "is 0"]),
        ('benchmarks = ["starter"]\n[[models]]\nseries = "x"', ["model 1", "name ="]),
        (GOOD + "revison = 'x'", ["model 1", "'revison'", "mean revision?"]),
        (GOOD + "gpus = -1", ["model 1", "gpus must be", "is -1"]),
        (GOOD + "gpus = true", ["model 1", "gpus must be", "is True"]),
        (GOOD + "memory_gb = inf", ["memory_gb must be", "is inf"]),
        (GOOD + "timeout = 0", ["timeout must be", "is 0"]),
        (
            'benchmarks = ["starter"]\nprotocols = ["publishd"]\n[[models]]\nname = "x"',
            ["protocol 'publishd'", "mean published?"],
        ),
        (GOOD + "kind = 'mask'", ["kind 'mask'", "masked"]),
        (GOOD + "dtype = 'float99'", ["dtype 'float99'", "auto, float32"]),
        (GOOD + 'tokenizer = "a\\u001bb"', ["tokenizer must be"]),
        (GOOD + "attributes = 3", ["attributes must be", "table"]),
        (GOOD + "max_memory = 3", ["max_memory must be", "is 3"]),
        (GOOD + "samples = 3\ntemperature = 0", ["model 1", "emperature", "samples"]),
        (GOOD + "per_minute = 3", ["--per-minute", "server"]),
        (GOOD + "samples = 3", ["--samples", "chat model"]),
        ('benchmarks = ["starter"]\n[[models]]\nname = "a@b"\nrevision = "c"', ["a@b", "`revision`"]),
        ('benchmarks = ["starter"]\n[[models]]\nname = "openai:m@http://me:secret@host/v1"', ["TILTMETER_API_KEY"]),
        ('benchmarks = ["sterioset"]\n[[models]]\nname = "x"', ["'sterioset'", "did you mean"]),
        ('benchmarks = ["starter/no"]\n[[models]]\nname = "x"', ["starter", "part 'no'"]),
        ('benchmarks = ["starter"]\nlanguages = ["xx"]\n[[models]]\nname = "x"', ["describes no run", "xx"]),
        (GOOD + '[[models]]\nname = "embedded"\n', ["embedded twice"]),
        (GOOD + '[[models]]\nname = "a b"\n[[models]]\nname = "a-b"\n', ["a b and a-b", "same folder"]),
        ('protocols = ["published", "pubished"]\n' + GOOD, ["protocol 'pubished'"]),
        ('protocols = ["aula"]\n' + GOOD, ["protocol 'aula'", "in-context"]),
    ],
)
def test_errors_name_the_file_and_the_fix(text: str, parts: list[str], tmp_path: Path) -> None:
    path = plan(tmp_path, text)
    with raises_mentioning(TiltmeterError, str(path), *parts) as error:
        make_matrix(read_plan(path), tmp_path / "out")
    assert "secret" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_plan_with_all_options(tmp_path: Path) -> None:
    text = """
    benchmarks = ["starter/intrasentence:de,fr", "starter-pairs", "starter-gest"]
    languages = ["en", "xx"]
    protocols = ["published", "in-context"]
    limit = 7
    [[models]]
    name = "google-bert/bert-base-cased"
    revision = "abc"
    dtype = "bfloat16"
    gpus = 2
    cpus = 4
    memory_gb = 20.5
    series = "bert"
    step = 3
    attributes = { family = "bert", multilingual = false }
    [[models]]
    name = "google-bert/bert-base-cased"
    tokenizer = "other/one"
    [[models]]
    name = "chat:m@http://localhost:1/v1"
    concurrency = 3
    full_design = true
    """
    matrix = make_matrix(read_plan(plan(tmp_path, text)), tmp_path / "out")
    first, second, chat = matrix.models
    assert matrix.lacking == {"starter-pairs": ("xx",), "starter-gest": ("xx",)}
    assert [(cell.on, cell.protocol, cell.folder) for cell in first.cells[:3]] == [
        ("starter/intrasentence:de", "published", "starter--intrasentence.de.published"),
        ("starter/intrasentence:de", "in-context", "starter--intrasentence.de.in-context"),
        ("starter/intrasentence:fr", "published", "starter--intrasentence.fr.published"),
    ]
    assert first.folder.name == "google-bert--bert-base-cased@abc.bfloat16"
    assert second.folder.name == "google-bert--bert-base-cased.other--one"
    assert chat.folder.name.startswith("chat-m-")
    assert chat.folder.name.endswith(".full-design-True")
    assert (first.model.gpus, first.model.cpus, first.model.memory_gb) == (2, 4, 20.5)
    assert first.build_request(first.cells[0])["models"] == ["google-bert/bert-base-cased@abc"]
    assert first.build_request(first.cells[0])["limit"] == 7
    assert chat.build_request(chat.cells[0])["design"] == "full"


def test_languages_of_a_benchmark_if_the_plan_names_none(tmp_path: Path) -> None:
    from tiltmeter.datasets.dataset_loader import get_dataset

    matrix = make_matrix(read_plan(plan(tmp_path, GOOD)), tmp_path / "out")
    assert [cell.on for cell in matrix.models[0].cells] == [
        f"starter:{code}" for code in get_dataset("starter").languages
    ]
    assert not matrix.lacking


def test_a_cell_that_two_benchmarks_name_is_one(tmp_path: Path) -> None:
    text = GOOD.replace('["starter"]', '["starter", "starter:de"]\nlanguages = ["de"]')
    matrix = make_matrix(read_plan(plan(tmp_path, text)), tmp_path / "out")
    assert [cell.on for cell in matrix.models[0].cells] == ["starter:de"]


def test_two_files_whose_runs_would_share_a_folder_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiltmeter.datasets.dataset_loader import load
    from tiltmeter.datasets.readers.jsonl import write_jsonl

    monkeypatch.chdir(tmp_path)
    for name in ("чай.jsonl", "сок.jsonl"):
        write_jsonl(load("starter", "intrasentence", "en")[:2], tmp_path / name)
    text = GOOD.replace('["starter"]', '["чай.jsonl", "сок.jsonl"]')
    with raises_mentioning(TiltmeterError, "чай.jsonl:en", "сок.jsonl:en", "same folder jsonl"):
        make_matrix(read_plan(plan(tmp_path, text)), tmp_path / "out")


def test_protocols_of_chat_models_and_cases_of_a_protocol_are_known(tmp_path: Path) -> None:
    text = 'protocols = ["published/d", "forced-choice"]\n' + GOOD.replace("embedded", "chat:m@http://localhost:1/v1")
    assert make_matrix(read_plan(plan(tmp_path, text)), tmp_path / "out").cell_count
