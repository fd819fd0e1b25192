"""Plans: what they may say, and the sentence for what they may not."""

from pathlib import Path

import pytest

from tiltmeter.cluster.plan_cells import make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.errors import TiltmeterError

GOOD = 'benchmarks = ["starter"]\n[[models]]\nname = "embedded"\n'


def plan(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("benchmarks = [", "is not valid TOML"),
        ('benchmark = ["starter"]\n[[models]]\nname = "x"', "'benchmark' is not known (did you mean benchmarks?)"),
        ('benchmarks = ["starter"]', "names no model"),
        ('benchmarks = ["starter"]\nmodels = ["x"]', "names no model"),
        ('[[models]]\nname = "x"', "names no benchmark"),
        ('benchmarks = "starter"\n[[models]]\nname = "x"', "benchmarks should be a list of texts"),
        ('benchmarks = ["starter", "starter"]\n[[models]]\nname = "x"', "names 'starter' twice"),
        ('benchmarks = ["starter"]\nlimit = 0\n[[models]]\nname = "x"', "limit should be a whole number from 1"),
        ('benchmarks = ["starter"]\n[[models]]\nseries = "x"', "model 1 has no name"),
        (GOOD + "revison = 'x'", "model 1: 'revison' is not known (did you mean revision?)"),
        (GOOD + "gpus = -1", "model 1: gpus should be a whole number from 0, and is -1"),
        (GOOD + "gpus = true", "model 1: gpus should be a whole number from 0"),
        (GOOD + "memory_gb = inf", "memory_gb should be a number above 0, and is inf"),
        (GOOD + "timeout = 0", "timeout should be a number above 0, and is 0"),
        (
            'benchmarks = ["starter"]\nprotocols = ["publishd"]\n[[models]]\nname = "x"',
            "has the protocol 'publishd' (did you mean published?)",
        ),
        (GOOD + "kind = 'mask'", "kind 'mask' is not known; choose"),
        (GOOD + "dtype = 'float99'", "dtype 'float99' is not known; choose auto, float32"),
        (GOOD + 'tokenizer = "a\\u001bb"', "tokenizer should be"),
        (GOOD + "attributes = 3", "attributes should be a table"),
        (GOOD + "max_memory = 3", "max_memory should be a table of sizes"),
        (GOOD + "samples = 3\ntemperature = 0", "model 1: At temperature 0 all 3 samples are alike"),
        (GOOD + "per_minute = 3", "--per-minute is for models behind a server"),
        (GOOD + "samples = 3", "chat models are set for a run without one"),
        ('benchmarks = ["starter"]\n[[models]]\nname = "a@b"\nrevision = "c"', "has a revision or address after @"),
        (
            'benchmarks = ["starter"]\n[[models]]\nname = "openai:m@http://me:secret@host/v1"',
            "holds a password or key",
        ),
        ('benchmarks = ["sterioset"]\n[[models]]\nname = "x"', "There is no data set 'sterioset' (did you mean"),
        ('benchmarks = ["starter/no"]\n[[models]]\nname = "x"', "starter has no part 'no'"),
        ('benchmarks = ["starter"]\nlanguages = ["xx"]\n[[models]]\nname = "x"', "no cells"),
        (GOOD + '[[models]]\nname = "embedded"\n', "has embedded twice with the same options"),
        (GOOD + '[[models]]\nname = "a b"\n[[models]]\nname = "a-b"\n', "the runs of a b and a-b would have the same"),
        ('protocols = ["published", "pubished"]\n' + GOOD, "none of its benchmarks has the protocol 'pubished'"),
        ('protocols = ["aula"]\n' + GOOD, "none of its benchmarks has the protocol 'aula'; there is in-context"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(text: str, told: str, tmp_path: Path) -> None:
    path = plan(tmp_path, text)
    with pytest.raises(TiltmeterError) as error:
        make_matrix(read_plan(path), tmp_path / "out")
    assert told in str(error.value)
    assert str(path) in str(error.value)
    assert "secret" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_everything_that_a_plan_may_say(tmp_path: Path) -> None:
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
    assert first.request(first.cells[0])["models"] == ["google-bert/bert-base-cased@abc"]
    assert first.request(first.cells[0])["limit"] == 7
    assert chat.request(chat.cells[0])["design"] == "full"


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
    with pytest.raises(TiltmeterError, match=r"чай.jsonl:en and сок.jsonl:en would have the same folder, jsonl"):
        make_matrix(read_plan(plan(tmp_path, text)), tmp_path / "out")


def test_protocols_of_chat_models_and_cases_of_a_protocol_are_known(tmp_path: Path) -> None:
    text = 'protocols = ["published/d", "forced-choice"]\n' + GOOD.replace("embedded", "chat:m@http://localhost:1/v1")
    assert make_matrix(read_plan(plan(tmp_path, text)), tmp_path / "out").cells
