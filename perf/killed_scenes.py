"""The scenes of `perf.kills_runs`: commands with their files before and their expected files after."""

import hashlib
import json
import multiprocessing
import os
import re
import shutil
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from perf.killing import Ending, Log, attempt
from tiltmeter.cli import main as tiltmeter
from tiltmeter.datasets.file_fetcher import fetch_file
from tiltmeter.datasets.upstream_files import Pin, UpstreamFile
from tiltmeter.engine import device_workers
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import TiltmeterError
from tiltmeter.http_client import retries
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.runs.result import Result
from tiltmeter.translators.translation_store import TranslationStore

HUB_ID = "made/tiny"
DATA = b"A mild sentence, many times over.\n" * 20_000
FILES = [
    UpstreamFile("owner/repo", "c0ffee", f"data/{name}.txt", Pin("sha256", hashlib.sha256(DATA).hexdigest()))
    for name in ("one", "two")
]
# Values that differ between runs: times, and the number of stored answers.
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00|\d+ \w+ \d{4}, \d\d:\d\d UTC|[\d.e-]+ hours|\bhours: [\d.e-]+")
_COUNTS = {"asked", "characters", "cost", "finished", "hours", "made", "requests", "seconds", "sent", "stored"}
_COUNTS |= {"tokens_in", "tokens_out"}


@dataclass(frozen=True)
class World:
    """The files of all scenes: tiny models and finished runs; and the address of the servers."""

    root: Path
    address: str
    sent: Log

    @property
    def model(self) -> str:
        """A tiny causal model."""
        return str(self.root / "model")

    def finished(self, name: str) -> Path:
        """Return a finished run."""
        return self.root / name


@dataclass(frozen=True)
class Kind:
    """A command: its words, the existing files, and the maximum number of texts in flight."""

    words: Callable[[World], list[str]]
    before: Callable[[World, Path], object] = lambda _world, _root: None
    at_once: int = 0
    of_workers: bool = False
    run: Callable[[], object] | None = None


_SMALL = ["--limit", "4", "--out", "out", "--no-report"]
PORTIONS = ["--on", "starter/intrasentence:en,de", "--on", "starter-pairs:en", "--limit", "4"]


def run_words(world: World) -> list[str]:
    return ["run", world.model, *PORTIONS, "--batch-tokens", "512", "--out", "out", "--no-report"]


def _half_answered(world: World, root: Path) -> None:
    shutil.copytree(world.root / "half-cache", root / "cache")


def _finished_before(world: World, root: Path) -> None:
    shutil.copytree(world.root / "warm-cache", root / "cache")
    shutil.copytree(world.finished("first"), root / "out")


def _damaged_store(world: World, root: Path) -> None:
    shutil.copytree(world.root / "warm-cache", root / "cache")
    store = root / "cache" / "answers.sqlite"
    content = bytearray(store.read_bytes())
    page = len(content) // 4096 * 2 // 3 * 4096
    content[page : page + 64] = bytes(64)
    store.write_bytes(content)


def _two_runs(world: World, root: Path) -> None:
    for name in ("first", "second"):
        shutil.copytree(world.finished(name), root / name)


KINDS: dict[str, Kind] = {
    "run": Kind(run_words),
    "run with report": Kind(lambda w: run_words(w)[:-1]),
    "resume": Kind(run_words, _half_answered),
    "run again": Kind(run_words, _finished_before),
    "replace": Kind(
        lambda w: ["run", w.model, "--on", "starter-pairs:de", *_SMALL, "--force"],
        _finished_before,
    ),
    "devices": Kind(lambda w: [*run_words(w), "--devices", "cpu,cpu"]),
    "devices' workers": Kind(lambda w: [*run_words(w), "--devices", "cpu,cpu"], of_workers=True),
    "damaged store": Kind(run_words, _damaged_store),
    "chat": Kind(
        lambda w: ["run", f"chat:made@{w.address}/v1", "--on", "starter-pairs:en", "--limit", "6", "--concurrency", "3",
                   "--out", "out", "--no-report"],
        at_once=27,  # three in flight, and four times as many that are not stored yet
    ),
    "translator": Kind(
        lambda w: ["run", "--translator", f"libretranslate:{w.address}", "--on", "starter-gest-mt:sk", "--out", "out",
                   "--no-report"],
        at_once=20,
    ),
    "report": Kind(lambda _w: ["report", "first", "--figures", "figures"], _two_runs),
    "export": Kind(lambda _w: ["export", "first", "--to", "lm-eval", "--out", "exported.json", "--force"], _two_runs),
    "compare": Kind(lambda _w: ["compare", "first", "second", "--html", "compared.html"], _two_runs),
    "check": Kind(
        lambda _w: ["check", "first", "--max", "starter.SS distance 60", "--markdown", "summary.md"], _two_runs
    ),
    "fetch data": Kind(lambda _w: [], run=lambda: [fetch_file(file) for file in FILES]),
    "fetch model": Kind(lambda _w: ["run", HUB_ID, "--on", "starter-pairs:en", "--limit", "2", "--out", "out",
                               "--no-report"]),
}  # fmt: skip


class Scene:
    """A folder in which a command runs."""

    def __init__(self, world: World, kind: Kind, root: Path) -> None:
        self.world, self.kind, self.root = world, kind, root
        root.mkdir()
        (root / "tmp").mkdir()
        kind.before(world, root)
        self.before = self.state()
        self.puts = Log(root / "puts.log")
        self.sent_before = len(world.sent.lines())
        self.killed = 0

    def attempt(self, **moment: Any) -> Ending:
        """Run the command in a forked process; raise an AssertionError unless it is killed or succeeds."""
        printed = self.root / "printed"
        printed.unlink(missing_ok=True)
        ending = attempt(self._command, printed=printed, of_workers=self.kind.of_workers, **moment)
        words = printed.read_text(encoding="utf-8", errors="replace")[-2000:] if printed.exists() else ""
        worker_died = self.kind.of_workers and ending.code == 2 and "worker process died" in words
        if not ending.killed and not worker_died:
            assert (ending.code, ending.error) == (0, ""), f"ends with {ending.code} {ending.error}\n{words}"
        self.killed += ending.killed or worker_died
        return ending if not worker_died else Ending(killed=True)

    def _command(self) -> None:
        os.chdir(self.root)
        tempfile.tempdir = str(self.root / "tmp")
        os.environ |= {"TILTMETER_CACHE": str(self.root / "cache"), "TILTMETER_MIRROR": f"{self.world.address}/mirror"}
        os.environ["COLUMNS"] = "200"
        _use_hub(self.world.address, self.root / "hub")
        _log_puts(self.puts)
        _fork_workers()
        if self.kind.run is not None:
            self.kind.run()
        else:
            sys.argv = ["tiltmeter", *self.kind.words(self.world)]
            tiltmeter()

    def state(self) -> dict[str, bytes]:
        """Return the content of all files of the command, without times and temporary files."""
        found = {}
        for path in _files(self.root):
            name = str(path.relative_to(self.root))
            if not _is_temporary(name) and not name.startswith(("cache/", "hub/", "tmp/", "puts.log", "printed")):
                found[name] = _without_times(path)
        for path in self.root.glob("hub/*/snapshots/*/*"):
            found[f"hub/{path.name}"] = path.read_bytes()
        for path in self.root.glob("cache/**/*.txt"):
            found[f"cache/{path.name}"] = path.read_bytes()
        return found

    def left_over(self) -> list[str]:
        """Return the temporary files and folders."""
        names = [str(path.relative_to(self.root)) for path in self.root.rglob("*")]
        return [
            name for name in names if (_is_temporary(name) or name.startswith("tmp/")) and not name.startswith("hub/")
        ]

    def check_whole(self, after: dict[str, bytes]) -> None:
        """Check that each file is as before or as after the command, and a run folder as a whole."""
        found = self.state()
        for name, content in found.items():
            assert content in (self.before.get(name), after.get(name)), f"{name} is neither the old nor the new one"
        for name in self.before:
            if not name.startswith("out/"):
                assert name in found, f"{name} is lost"
        if self.before.keys() & {"out/manifest.json"}:
            self._check_run(after)

    def _check_run(self, after: dict[str, bytes]) -> None:
        """Check that an existing run can be read, in a copy, because reading may repair it."""
        with tempfile.TemporaryDirectory(dir=self.world.root) as folder:
            shutil.copytree(self.root / "out", Path(folder) / "out")
            try:
                changed = Result.load(Path(folder) / "out").changed
            except TiltmeterError as error:
                raise AssertionError(f"the run is lost: {error}") from error
            assert not changed, f"{changed} do not belong to the manifest"
            content = {
                f"out/{path.name}": _without_times(path)
                for path in (Path(folder) / "out").iterdir()
                if path.suffix in (".json", ".parquet") and path.is_file()
            }
        assert any(
            all(version.get(name) == value for name, value in content.items()) for version in (self.before, after)
        ), "the run is a mixture of the old and the new one"

    def asked(self) -> set[str]:
        """Return the texts to be stored; raise an AssertionError if one had already been stored."""
        begun: set[str] = set()
        stored: set[str] = set()
        for word, *digests in self.puts.lines():
            if word == "putting":
                assert not stored & set(digests), "an answer that was stored is asked for again"
                begun |= set(digests)
            else:
                stored |= set(digests)
        return begun

    def check_finished(self, after: dict[str, bytes], asked: set[str]) -> None:
        """Check that all files are as after an uninterrupted command, and that only missing answers were requested."""
        found = self.state()
        assert found.keys() == after.keys(), f"other files: {sorted(found.keys() ^ after.keys())}"
        for name, content in after.items():
            assert found[name] == content, f"{name} has other bytes"
        assert not (left := self.left_over()), f"left over: {left}"
        assert self.asked() == asked, "other answers are asked for"

    def sent_again(self) -> int:
        """Return how many texts were sent again; raise an AssertionError if there are more than were in flight."""
        sent = Counter(words[-1] for words in self.world.sent.lines()[self.sent_before :])
        again = sent.total() - len(sent)
        assert again <= self.killed * self.kind.at_once, f"{again} texts sent again after {self.killed} kills"
        return again

    def clear(self) -> None:
        """Delete the folder."""
        self.puts.close()
        shutil.rmtree(self.root)


def _files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file())


def _is_temporary(name: str) -> bool:
    parts = Path(name).parts
    return any(part.endswith((".part", ".saved", ".moving", "-journal")) for part in parts)


def _without_times(path: Path) -> bytes:
    """Return the content of a file without times and without values that depend on stored answers."""
    content = path.read_bytes()
    if path.name == "manifest.json":
        manifest = json.loads(content)
        manifest.get("digests", {}).pop(path.name, None)  # computed from the rest, including times
        return json.dumps(_without_counts(manifest)).encode()
    if path.suffix == ".pdf":  # the order of its fonts varies; it is complete if its end is correct
        return content[:5] + content.rstrip()[-5:]
    if path.suffix not in (".json", ".html", ".md"):
        return content
    text = content.decode()
    if path.suffix == ".html" and (run := path.parent / "manifest.json").exists():
        manifest = json.loads(run.read_bytes())
        text = text.replace(f">{manifest['seconds']}</bdi>", ">SECONDS</bdi>")
        text = text.replace(manifest["digests"]["manifest.json"], "DIGEST")
    return _TIMES.sub("TIME", text).encode()


def _without_counts(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_counts(v) for k, v in value.items() if k not in _COUNTS or isinstance(v, list)}
    return [_without_counts(inner) for inner in value] if isinstance(value, list) else value


def _use_hub(address: str, cache: Path) -> None:
    from huggingface_hub import constants

    constants.ENDPOINT = address
    constants.HUGGINGFACE_CO_URL_TEMPLATE = address + "/{repo_id}/resolve/{revision}/{filename}"
    constants.HF_HUB_CACHE = str(cache)
    constants.HF_HUB_OFFLINE = False
    retries.PAUSES = (0.01,)


def _fork_workers() -> None:
    """Fork the processes of devices from a process that has imported everything; they close the pipes of others."""
    forking = multiprocessing.get_context("fork")
    multiprocessing.get_context = lambda _method=None: forking  # type: ignore[assignment,return-value]
    work = device_workers._run_worker

    def worker(load: Any, connection: Any) -> None:
        for path in list(Path("/proc/self/fd").iterdir()):
            with suppress(OSError):
                handle = int(path.name)
                if handle != connection.fileno() and stat.S_ISSOCK(os.fstat(handle).st_mode):
                    os.close(handle)
        work(load, connection)

    device_workers._run_worker = worker


def _log_puts(log: Log) -> None:
    """Log texts before and after they are stored."""

    def logged(store: Any, digests: Callable[..., list[str]]) -> None:
        put = store.put

        @wraps(put)
        def logging(*arguments: Any) -> None:
            words = digests(*arguments[1:])
            log.write("putting", *words)
            put(*arguments)
            log.write("stored", *words)

        store.put = logging

    logged(AnswerStore, lambda model, answers: [f"{model[:8]} {digest.hex()}" for digest in answers])
    logged(ReplyStore, lambda model, question, _reply: [f"{model[:8]} {question.hex()}"])
    logged(
        TranslationStore,
        lambda system, language, texts: [
            hashlib.sha256(f"{system} {language} {text}".encode()).hexdigest() for text in texts
        ],
    )
