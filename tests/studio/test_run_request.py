"""Checks of requests for runs before they are queued."""

from pathlib import Path
from typing import Any

import pytest

from tests.studio.queued import workspace_with_items
from tests.support.messages import raises_mentioning
from tiltmeter.errors import TiltmeterError
from tiltmeter.studio.model_names import format_endpoint_name, list_model_files
from tiltmeter.studio.run_request import RunRequest, validate_request
from tiltmeter.studio.studio_workspace import StudioWorkspace

OWN = "association-5.en.jsonl"


@pytest.fixture
def workspace(tmp_path: Path) -> StudioWorkspace:
    folder = tmp_path / "work"
    (tmp_path / "secret.gguf").touch()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "config.json").write_text("{}")
    made = workspace_with_items(folder)
    (folder / "models" / "mine").mkdir(parents=True)
    (folder / "models" / "mine" / "config.json").write_text("{}")
    (folder / "small.gguf").touch()
    (folder / "plain").mkdir()
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "runs" / "taken").mkdir(parents=True)
    return made


def request(**values: Any) -> RunRequest:
    return RunRequest(**{"name": "mine", "models": ("embedded",), "on": ("starter:en",), **values})


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"models": ("models/mine", "small.gguf", "bert-base-cased", "org/name@main")},
        {"models": ("chat:embedded", "chat:my-model@http://localhost:8000/v1"), "protocol": "forced-choice"},
        {"models": ("openai:org/model@https://example.org:8443/v1",), "tokenizer": "models/mine"},
        {"on": ("stereoset/intrasentence:de,fr", "starter")},
        {"on": (OWN, f"{OWN}:en"), "limit": 3},
        {"protocol": "in-context/c"},
        {"on": ("crows-pairs",), "protocol": "aul"},
        {"price_in": 0.5, "price_out": 2.0, "max_requests": 10, "models": ("chat:a@http://b/v1",)},
    ],
)
def test_valid_requests(workspace: StudioWorkspace, values: dict[str, Any]) -> None:
    asked = request(**values)
    assert validate_request(asked, workspace) == asked
    assert RunRequest.from_dict(asked.to_dict()) == asked


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"models": ()}, "at least one model"),
        ({"on": ()}, "at least one benchmark"),
        ({"models": ("embedded", "embedded")}, "chosen twice"),
        ({"models": ("embedded", "chat:embedded")}, "start two runs"),
        ({"models": ("../outside",)}, "outside the workspace"),
        ({"models": ("/etc",)}, "outside the workspace"),
        ({"models": ("link",)}, "outside the workspace"),
        ({"models": ("chat:link",)}, "outside the workspace"),
        ({"models": ("../secret.gguf",)}, "no file"),
        ({"models": ("plain",)}, "has no config.json"),
        ({"models": ("a b",)}, "neither"),
        ({"models": ("-rf",)}, "neither"),
        ({"models": ("bert\n--trust-remote-code",)}, "one line"),
        ({"models": ("a" * 600,)}, "one line"),
        ({"models": ("<script>",)}, "neither"),
        ({"models": ("file:x@http://host/v1",)}, "server protocol 'file'"),
        ({"models": ("openai:m@ftp://host/v1",)}, "not a server address"),
        ({"models": ("openai:m@http://me:secret@host/v1",)}, "TILTMETER_API_KEY"),
        ({"models": ("openai:m@http://host/v1?key=secret",)}, "TILTMETER_API_KEY"),
        ({"models": ("openai:@http://host/v1",)}, "not a valid model"),
        ({"models": ("chat:../outside",)}, "outside the workspace"),
        ({"on": ("nonsense",)}, "'nonsense'"),
        ({"on": ("stereoset:xx",)}, "xx"),
        ({"on": ("stereoset/nonsense:de",)}, "part 'nonsense'"),
        ({"on": ("../work/association-5.en.jsonl",)}, "not a valid path"),
        ({"on": ("/etc/passwd",)}, "not a data set"),
        ({"on": ("missing.jsonl",)}, "no JSONL file"),
        ({"on": (f"{OWN}:de",)}, "language 'de'"),
        ({"limit": 0}, "items is 0"),
        ({"limit": -3}, "items is -3"),
        ({"protocol": "nonsense"}, "no protocol 'nonsense'"),
        ({"protocol": "aul"}, "starter:en has no protocol"),
        ({"models": ("chat:embedded",), "protocol": "in-context"}, "Chat models have no"),
        ({"name": "../x"}, "not a valid name"),
        ({"name": "a/b"}, "not a valid name"),
        ({"name": ""}, "not a valid name"),
        ({"name": "taken"}, "already"),
        ({"tokenizer": "../outside"}, "outside the workspace"),
        ({"tokenizer": "chat:x"}, "not a tokenizer"),
        ({"price_in": 1.0}, "both prices"),
        ({"price_in": -1.0, "price_out": 1.0}, "both prices"),
        ({"price_in": float("nan"), "price_out": 1.0}, "both prices"),
        ({"max_requests": 0}, "at least 1"),
    ],
)
def test_invalid_requests(workspace: StudioWorkspace, values: dict[str, Any], part: str) -> None:
    with raises_mentioning(TiltmeterError, part):
        validate_request(request(**values), workspace)
    assert not (workspace.state / "jobs").exists()


def test_models_in_the_workspace_are_found(workspace: StudioWorkspace) -> None:
    assert list_model_files(workspace) == ["models/mine", "small.gguf"]


def test_an_address_loses_its_last_slash() -> None:
    assert format_endpoint_name("chat", "m", "http://host/v1/") == "chat:m@http://host/v1"
