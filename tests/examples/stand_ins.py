"""Replacements for resources that tests do not have: missing data files, a paid service, and time."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

from tests.models.chat_served import first
from tests.support.serving import serving
from tiltmeter.benchmarks.forced_choice.wordings import load_list_wordings
from tiltmeter.cluster.engine_local import LocalEngine
from tiltmeter.cluster.model_job import run_job
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.datasets import file_fetcher, readers
from tiltmeter.datasets.readers.jsonl import parse
from tiltmeter.datasets.upstream_files import UpstreamFile
from tiltmeter.datasets.validation import ValidationResult, validate_records

# By the format of files that the mirror may lack: the file of the reader that is used instead.
_REPLACEMENTS = {"bbq-jsonl": "my-questions", "mbbq-jsonl": "my-questions", "gest-pairs-csv": "my-gendered-pairs"}

_MAY_BE_ABSENT = ("nyu-mll/BBQ/", "Veranep/MBBQ/", "kinit-sk/gest/data/gender_variants.csv")


def use_data(patch: pytest.MonkeyPatch, own: Path) -> None:
    """Read every data file once; replace files that the mirror lacks by own items of the same form and language."""
    absent = own.parent / "absent"
    fetched, examined = file_fetcher.fetch_file, readers.validate_file

    def fetch_or_make(file: UpstreamFile, dataset: str = "") -> Path:
        try:
            return fetched(file, dataset=dataset)
        except file_fetcher.UnavailableFileError:
            if not file.name.startswith(_MAY_BE_ABSENT):
                raise
            path = absent / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            return path

    @cache
    def examine_once(path: Path, format: str, language: str) -> ValidationResult:
        if not path.is_relative_to(absent):
            return examined(path, format, language)
        rows = map(json.loads, (own / f"{_REPLACEMENTS[format]}.jsonl").read_text("utf-8").splitlines())
        made = path.with_name(f"{path.stem}.{language}.jsonl")
        changed = ({**row, "id": f"{path.stem}-{row['id']}", "language": language} for row in rows)
        made.write_text("".join(json.dumps(row) + "\n" for row in changed), encoding="utf-8")
        return validate_records(str(made), parse(made))

    patch.setattr(file_fetcher, "fetch_file", fetch_or_make)
    patch.setattr(readers, "validate_file", examine_once)


def choose_first(prompt: str, sample: int = 0) -> str:
    """Choose the first option; assign all words of a list to the group that is named first."""
    for wording in load_list_wordings("en")[1]:
        before, between = wording.split("{first}")[0], re.findall(r"{first}(.*?){second}", wording)[0]
        if prompt.startswith(before):
            group = prompt.removeprefix(before).partition(between)[0]
            return "\n".join(f"{word} - {group}" for word in prompt.split("\n\n")[1].split(", "))
    return first(prompt, sample)


def run_jobs_here(patch: pytest.MonkeyPatch) -> None:
    """Run the jobs of a matrix in this process, which has already imported everything and read the data."""

    def done(_engine: LocalEngine, entry: ModelCells, _gpus: tuple[str, ...], output: IO[bytes]) -> SimpleNamespace:
        here = Path.cwd()
        output.write(json.dumps(run_job(entry.folder.resolve())).encode())
        os.chdir(here)
        return SimpleNamespace(poll=lambda: 0, wait=lambda: 0)

    patch.setattr(LocalEngine, "_start_process", done)


@contextmanager
def translation_service(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve the protocol of DeepL; every text becomes a Slovak sentence, with a feminine speaker after `She said`."""

    class Service(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"]
            facts = {"detected_source_language": "EN", "billed_characters": 9}
            translations = [{**facts, "text": _in_slovak(text)} for text in texts]
            body = json.dumps({"translations": translations}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Service) as address:
        patch.setenv("DEEPL_AUTH_KEY", "not-a-key")
        patch.setenv("DEEPL_SERVER_URL", address)
        yield


def _in_slovak(text: str) -> str:
    sentence = text.partition('"')[2].rstrip('"') or text
    number = int.from_bytes(hashlib.sha256(sentence.encode()).digest()[:2])
    if text.startswith("She said"):
        return f'Povedala: "Bola som doma {number}."'
    plain = f"Bol som doma {number}."
    return f'Povedal: "{plain}"' if text.startswith("He said") else plain
