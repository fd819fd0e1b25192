"""Files of the Hugging Face Hub: a local server acts as the hub, with gated data sets and another server."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.datasets.conftest import Server, build_handler
from tests.support.messages import raises_mentioning
from tests.support.serving import serving
from tiltmeter.datasets import dataset_loader
from tiltmeter.datasets.dataset_definition import Dataset, Source
from tiltmeter.datasets.dataset_loader import DATASETS, allows_text_export, explain_missing_texts
from tiltmeter.datasets.file_fetcher import fetch_file
from tiltmeter.datasets.licence_consent import show_notice
from tiltmeter.datasets.local_files import get_cached_path, is_local
from tiltmeter.datasets.readers import validate_file
from tiltmeter.datasets.upstream_files import Pin, UpstreamFile, load_repositories
from tiltmeter.errors import DownloadError
from tiltmeter.forms.own_prompts import OwnPromptItem

CONTENT = b'{"note": "A mild line."}\n' * 500
PIN = Pin("sha256", hashlib.sha256(CONTENT).hexdigest())
FILE = UpstreamFile("owner/set", "c0ffee", "data/items.jsonl", PIN, service="hub")
GATED = UpstreamFile("owner/gated", "c0ffee", "items.jsonl", PIN, service="hub", gated=True)
PATH = "/datasets/owner/set/resolve/c0ffee/data/items.jsonl"
GATED_PATH = "/datasets/owner/gated/resolve/c0ffee/items.jsonl"
TOKEN = "hf_token_of_nobody"


@pytest.fixture
def hub(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    for name in ("TILTMETER_MIRROR", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent/token")
    monkeypatch.setenv("HF_ENDPOINT", f"{server.url}/")
    show_notice.cache_clear()
    server.content |= {PATH: CONTENT, GATED_PATH: CONTENT}
    return server


@pytest.fixture
def storage() -> Iterator[Server]:
    """Another server, to which the hub redirects requests for large files."""
    other = Server()
    with serving(build_handler(other)) as other.url:
        yield other


def test_a_file_of_a_pinned_revision_is_downloaded_once_without_a_token(hub: Server) -> None:
    assert not is_local(FILE)
    path = fetch_file(FILE)
    assert path == get_cached_path(FILE) == fetch_file(FILE)
    assert path.read_bytes() == CONTENT
    assert hub.asked == [(PATH, 0)]
    assert hub.headers[0]["Authorization"] is None
    github = UpstreamFile("owner/set", "c0ffee", "data/items.jsonl", PIN)
    assert get_cached_path(github) != path  # a repository of the same name on GitHub is another one


def test_a_wrong_hash_is_not_used(hub: Server) -> None:
    hub.content[PATH] = b'{"note": "Another line."}\n'
    with raises_mentioning(DownloadError, "owner/set/data/items.jsonl", str(PIN)):
        fetch_file(FILE)
    assert not get_cached_path(FILE).exists()


def test_a_gated_file_needs_a_token_with_access(
    hub: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.needs = ("Authorization", f"Bearer {TOKEN}")
    page = f"{hub.url}/datasets/owner/gated"
    with raises_mentioning(DownloadError, "owner/gated", page, "conditions", "HF_TOKEN"):
        fetch_file(GATED)
    monkeypatch.setenv("HF_TOKEN", "hf_of_another_account")
    with raises_mentioning(DownloadError, "owner/gated", page, "no access") as failure:
        fetch_file(GATED)
    assert "hf_of_another_account" not in str(failure.value)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert fetch_file(GATED).read_bytes() == CONTENT
    assert capsys.readouterr().err.count("owner/gated is gated") == 1
    assert len(hub.asked) == 3  # missing access is not retried


def test_a_token_is_not_sent_to_another_server(hub: Server, storage: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.redirects[GATED_PATH] = f"{storage.url}/large/file"
    storage.content["/large/file"] = CONTENT
    assert fetch_file(GATED).read_bytes() == CONTENT
    assert hub.headers[0]["Authorization"] == f"Bearer {TOKEN}"
    assert storage.headers[0]["Authorization"] is None
    monkeypatch.setenv("TILTMETER_MIRROR", storage.url)
    storage.content[f"/hub/owner/set/{FILE.path}"] = CONTENT
    fetch_file(FILE)
    assert storage.headers[-1]["Authorization"] is None


def test_texts_of_a_gated_data_set_are_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = (Source("en", None, "jsonl", GATED),)
    gated = Dataset("gated", "pairs", "pairs", "CC BY 4.0", "Nobody", "", (), sources)
    monkeypatch.setattr(dataset_loader, "DATASETS", {"gated": gated, "starter": DATASETS["starter"]})
    assert not allows_text_export("gated")
    assert "gated" in explain_missing_texts("gated").removeprefix("The texts of gated")
    assert allows_text_export("starter")


PEOPLE = [(age, gender, race) for age in (20, 60, 80) for gender in ("male", "female") for race in ("white", "Black")]


def write_decisions(folder: Path) -> Path:
    lines = [
        {
            "filled_template": f"The applicant is {age}, {gender} and {race}. Lend the bicycle {scenario}?",
            "decision_question_id": scenario,
            "age": float(age),
            "gender": gender,
            "race": race,
        }
        for scenario in range(2)
        for age, gender, race in PEOPLE
    ]
    path = folder / "explicit.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return path


def test_decisions_are_compared_with_those_about_the_reference_person(tmp_path: Path) -> None:
    result = validate_file(write_decisions(tmp_path), "discrim-eval", "en")
    assert not result.findings
    items = [item for item in result.items if isinstance(item, OwnPromptItem)]
    # In a scenario: 6 women, 6 Black people, 4 of 20 and 4 of 80 years are compared with the same person otherwise.
    assert len(items) == 2 * (6 + 6 + 4 + 4)
    assert {item.comparison for item in items} == {"female - male", "Black - white", "younger - 60", "older - 60"}
    item = next(item for item in items if item.id == "gender/1/20/female/Black")
    assert item.build_message(item.wording) == (
        "The applicant is 20, female and Black. Lend the bicycle 1?\n\nAnswer with yes or no."
    )
    assert "20, male and Black" in item.reference_wording
    assert (item.template, item.pair_name, item.option_texts) == ("1", "20 Black", ("yes", "no"))


def test_faulty_decisions_are_left_out(tmp_path: Path) -> None:
    path = write_decisions(tmp_path)
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not ('"age": 60.0' in line and '"female"' in line)]
    path.write_text("\n".join([*kept, '{"age": 20}', "{", kept[0]]), encoding="utf-8")
    result = validate_file(path, "discrim-eval", "en")
    codes = {"half-pair", "missing-field", "bad-json", "duplicate-id"}
    assert {finding.code for finding in result.findings} == codes


def test_the_pinned_revision_of_discrim_eval() -> None:
    repository = load_repositories()["Anthropic/discrim-eval"]
    assert {(file.service, file.name) for file in repository.files.values()} == {
        ("hub", "hub/Anthropic/discrim-eval/explicit.jsonl"),
        ("hub", "hub/Anthropic/discrim-eval/implicit.jsonl"),
    }
