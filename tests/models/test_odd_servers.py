"""Servers that never finish a reply, or send one without end; weights that would fill the memory."""

import zipfile
from pathlib import Path

import pytest

from perf.bad_input_cases.servers import OddServer
from tests.support.serving import serving
from tiltmeter.errors import ModelError
from tiltmeter.models import client
from tiltmeter.models.client import Client, Request
from tiltmeter.models.pickled_weights import reject_oversized_pickles
from tiltmeter.translators import http


def test_a_reply_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_PATIENCE", 0.1)
    with serving(OddServer) as address:
        with pytest.raises(ModelError, match="less than 100 bytes a second"):
            Client(f"{address}/slow").ask(Request("/models"))
        with pytest.raises(ModelError, match="less than 100 bytes a second"):
            http.post_json(f"{address}/slow", {}, "A service")


def test_a_reply_has_a_time_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(OddServer) as address, pytest.raises(ModelError, match=r"did not finish its reply within 0\.7 s"):
        Client(f"{address}/slow", timeout=0.7).ask(Request("/models"))


def test_a_reply_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST_REPLY", 3_000_000)
    monkeypatch.setattr(http, "_LARGEST_REPLY", 3_000_000)
    with serving(OddServer) as address:
        with pytest.raises(ModelError, match="more than 3,000,000 bytes"):
            Client(f"{address}/endless").ask(Request("/models"))
        with pytest.raises(ModelError, match="more than 3,000,000 bytes"):
            http.post_json(f"{address}/endless", {}, "A service")


@pytest.mark.parametrize("name", ["deep", "gzip", "half", "no-utf8", "page", "empty"])
def test_what_is_no_json_is_a_sentence(name: str) -> None:
    with serving(OddServer) as address, pytest.raises(ModelError, match="The server at"):
        Client(f"{address}/{name}", pauses=0.01).ask(Request("/models"))


@pytest.mark.parametrize(("method", "size"), [(zipfile.ZIP_DEFLATED, 1000), (zipfile.ZIP_STORED, 40_000_000)])
def test_weights_that_would_fill_the_memory_are_refused(method: int, size: int, tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("archive/data.pkl", bytes(size))
    with pytest.raises(ModelError, match="refused"):
        reject_oversized_pickles(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(1000))
    reject_oversized_pickles(path)
