"""Attributes of models from plans and other TOML files, joined with those that manifests have."""

from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.comparing.attributes import DescribedModel, find_run_attributes, get_language_attributes, read_attributes
from tiltmeter.errors import DataError
from tiltmeter.runs.manifest import build_model_entry

PLAN = """
benchmarks = ["starter"]
[[models]]
name = "org/pythia"
revision = "step1000"
series = "pythia"
step = 1000
gpus = 1
retries = 3
attributes = { family = "pythia", instruct = false, size = 1.5 }
[[models]]
name = "bert"
"""


def written(folder: Path, text: str, name: str = "plan.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_models_are_named_as_runs_name_them(tmp_path: Path) -> None:
    found = read_attributes(written(tmp_path, PLAN))
    assert list(found.models) == ["org/pythia@step1000", "bert"]
    pythia = found.describe_model("org/pythia@step1000")
    assert pythia.series == "pythia"
    assert pythia.step == 1000
    assert pythia.get_attribute_texts() == {"family": "pythia", "instruct": "false", "size": "1.5"}
    assert found.list_unmeasured_models(["bert"]) == ["org/pythia@step1000"]


def test_measured_attributes_are_added_and_given_ones_win(tmp_path: Path) -> None:
    found = read_attributes(
        written(tmp_path, '[[models]]\nname = "m"\nattributes = { parameters = 7, family = "a" }\n')
    )
    entry = build_model_entry({"name": "m", "kind": "causal", "parameters": 5, "type": "gpt2", "answers": {"a": 1}})
    assert found.describe_model("m", entry).attributes == {
        "kind": "causal",
        "model type": "gpt2",
        "parameters": 7,
        "family": "a",
    }
    assert found.describe_model("other", entry) == DescribedModel(
        "other", {"kind": "causal", "model type": "gpt2", "parameters": 5}
    )


def test_the_plan_of_a_run_is_the_nearest_above_it(tmp_path: Path) -> None:
    run = tmp_path / "out" / "model" / "cell"
    run.mkdir(parents=True)
    assert find_run_attributes([run]).models == {}
    plan = written(tmp_path / "out", PLAN)
    assert find_run_attributes([run, run]).sources == (plan.resolve(),)
    written(run, 'title = "a plan of something else"')
    assert find_run_attributes([run]).sources == (plan.resolve(),)
    written(run.parent, '[[models]]\nname = "near"\n')
    assert list(find_run_attributes([run]).models) == ["near"]
    other = written(tmp_path, '[[models]]\nname = "other"\n', "facts.toml")
    assert list(find_run_attributes([run], other).models) == ["other"]


def test_a_plan_far_above_is_not_that_of_a_run(tmp_path: Path) -> None:
    written(tmp_path, PLAN)
    run = tmp_path / "a" / "b" / "c"
    assert find_run_attributes([run]).models
    assert not find_run_attributes([run / "d"]).models


def test_plans_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    for name, family in (("one", "a"), ("two", "b")):
        written(tmp_path / name, f'[[models]]\nname = "m"\nattributes = {{ family = "{family}" }}\n')
    runs = [tmp_path / "one" / "run", tmp_path / "two" / "run"]
    with raises_mentioning(DataError, "one/plan.toml", "two/plan.toml", "describe m", "--attributes"):
        find_run_attributes(runs)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("benchmarks = []", "has no [[models]] table"),
        ("models = 3", "has no [[models]] table"),
        ("[[models]]\nkind = 'masked'", "model 1 has no name"),
        ("[[models]]\nname = 3", "name is 3"),
        ("[[models]]\nname = 'a'\nattribute = {}", "(did you mean attributes?)"),
        ("[[models]]\nname = 'a'\nseries = 's'", "no step"),
        ("[[models]]\nname = 'a'\nstep = 1", "no series"),
        ("[[models]]\nname = 'a'\nseries = 's'\nstep = true", "step is True"),
        ("[[models]]\nname = 'a'\nseries = 's'\nstep = nan", "step is nan"),
        ("[[models]]\nname = 'a@b'\nrevision = 'c'", "revision in its name"),
        ("[[models]]\nname = 'a'\nattributes = 'x'", "attributes is 'x'"),
        ("[[models]]\nname = 'a'\nattributes = { x = [1] }", "the attribute x is [1]"),
        ("[[models]]\nname = 'a'\nattributes = { x = inf }", "the attribute x is inf"),
        ("[[models]]\nname = 'a'\n[[models]]\nname = 'a'\nattributes = { x = 1 }", "describes a twice"),
        ("[[models", "not valid TOML"),
    ],
)
def test_invalid_files(tmp_path: Path, text: str, part: str) -> None:
    path = written(tmp_path, text)
    with raises_mentioning(DataError, str(path), part):
        read_attributes(path)


def test_languages_have_attributes() -> None:
    assert get_language_attributes("pt-BR")["family"] == "Romance"
    assert set(get_language_attributes("tr")) == {"language", "family", "script", "grammatical gender"}
