"""The cells of a plan: model, benchmark, language and protocol, each an ordinary run in a folder of its own."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.cluster.plan_file import Plan, PlannedModel
from tiltmeter.datasets import parse_spec
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.dataset_loader import get_dataset, load_file
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import DataError, TiltmeterError, UsageError
from tiltmeter.forms import get_item_form
from tiltmeter.models.option_scope import find_source
from tiltmeter.runs.chat_run import PROTOCOLS as OF_CHAT_MODELS
from tiltmeter.runs.preparation import RunSettings, build_request
from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES, finish_save
from tiltmeter.text_files import expand_home, read_json

# Options that change results, in the name of a model's folder: their own name, or their value.
_BY_NAME, _BY_VALUE = ("plain", "chat_template"), ("kind", "dtype", "quantize", "tokenizer")
_OF_CHATS = ("full_design", "max_tokens", "samples", "temperature")
_LONGEST = 100
# What may follow the name of a protocol: one of its cases.
_CASE = re.compile(r"/[a-z]$")


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One run of a plan: `on` is the benchmark with its language, `folder` its folder inside that of its model."""

    on: str
    protocol: str
    limit: int | None
    folder: str


@dataclass(frozen=True)
class ModelCells:
    """A model of a plan with its cells and its folder: what one job does."""

    model: PlannedModel
    cells: tuple[PlannedCell, ...]
    folder: Path

    @property
    def label(self) -> str:
        """The model's name for people, with the options that set it apart from others of the same name."""
        chosen = _format_options(self.model)
        return f"{self.model.name} ({', '.join(chosen)})" if chosen else self.model.name

    @property
    def is_served(self) -> bool:
        """Whether the model is behind a server, so that its job needs no GPU."""
        return find_source(self.model.name) in ("endpoint", "chat server")

    def settings(self, cell: PlannedCell) -> RunSettings:
        """How the cell's model is asked."""
        return RunSettings(protocol=cell.protocol, limit=cell.limit, chat=self.model.build_chat_options())

    def request(self, cell: PlannedCell) -> dict[str, Any]:
        """The request of the cell's run, the same as that of `tiltmeter run`; an error for what cannot be asked."""
        options = self.model.build_model_options(get_cache_folder())
        return build_request([self.model.name], [cell.on], self.settings(cell), options)

    def is_finished(self, cell: PlannedCell) -> bool:
        """Whether the cell's folder holds a complete run with the same request, of files that are as they were then."""
        folder = self.folder / cell.folder
        try:
            if not all((folder / name).is_file() for name in (MANIFEST, MEASURES, SCORES)):
                return False
            made = read_json(folder / MANIFEST).get("request")
            if made != json.loads(json.dumps(self.request(cell))):
                return False
            return not any(has_changed_since(folder / MANIFEST, path) for path in self.list_local_files(cell))
        except (TiltmeterError, OSError, AttributeError):
            return False

    def list_local_files(self, cell: PlannedCell) -> list[Path]:
        """The files and folders that a cell's run is made from: of the model, its tokenizer and the items."""
        names = [self.model.name, *self.model.name.split("+"), str(self.model.options.get("tokenizer", ""))]
        items = parse_spec(cell.on).path
        return [*filter(Path.exists, map(expand_home, filter(None, dict.fromkeys(names)))), *([items] if items else [])]

    @property
    def unfinished(self) -> list[PlannedCell]:
        """The cells that are not finished, in the order of the plan."""
        try:
            there = {path.name for path in self.folder.iterdir()}
        except OSError:
            there = set()
        return [cell for cell in self.cells if cell.folder not in there or not self.is_finished(cell)]

    def finish_saves(self) -> None:
        """Move the files of runs whose save was killed to their places; only the owner of the job's lock may do so."""
        for cell in self.cells:
            with suppress(TiltmeterError, OSError):  # then the run is made again
                finish_save(self.folder / cell.folder)

    @cached_property
    def digest(self) -> str:
        """A hash of what the job is to do: two plans with the same digest ask for the same runs."""
        asked = [[cell.folder, self.request(cell)] for cell in self.cells]
        return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class RunMatrix:
    """All cells of a plan. `lacking` are the languages that a benchmark does not have."""

    plan: Plan
    out: Path
    models: tuple[ModelCells, ...]
    lacking: dict[str, tuple[str, ...]]

    @cached_property
    def cells(self) -> int:
        """The number of cells."""
        return sum(len(entry.cells) for entry in self.models)


def make_matrix(plan: Plan, out: Path) -> RunMatrix:
    """The cells of a plan, with folders below `out`; an error for a benchmark, part or option that is not known.

    Nothing is opened or downloaded.
    """
    cells: dict[str, PlannedCell] = {}
    lacking: dict[str, tuple[str, ...]] = {}
    for text in plan.benchmarks:
        specs, missing = _split_by_language(text, plan)
        if missing:
            lacking[text] = missing
        for benchmark, language, on in specs:
            for protocol in plan.protocols:
                folder = ".".join(build_safe_name(part) for part in (benchmark, language, protocol))
                cell = cells.setdefault(folder, PlannedCell(on, protocol, plan.limit, folder))
                if (cell.on, cell.protocol) != (on, protocol):
                    raise DataError(
                        f"{plan.path}: the runs on {cell.on} and {on} would have the same folder, {folder}; rename one "
                        "of the files, with letters from a to z and digits."
                    )
    if not cells:
        raise UsageError(
            f"{plan.path} has no cells: no benchmark has one of its languages {', '.join(plan.languages)}."
        )
    models = tuple(
        ModelCells(model, tuple(cells.values()), expand_home(out) / get_folder_name(model)) for model in plan.models
    )
    _reject_shared_folder(plan, models)
    _reject_unknown_protocols(plan)
    for entry in models:
        for cell in entry.cells[:1]:
            try:
                entry.request(cell)
            except UsageError as error:
                raise DataError(f"{plan.path}, model {entry.model.name}: {error}") from error
    return RunMatrix(plan, expand_home(out), models, lacking)


def get_folder_name(model: PlannedModel) -> str:
    """The name of a model's folder: its own, and the options that change its results.

    >>> get_folder_name(PlannedModel(name="google-bert/bert-base-cased@main", options={"dtype": "bfloat16"}))
    'google-bert--bert-base-cased@main.bfloat16'
    """
    return ".".join(build_safe_name(part) for part in (model.name, *_format_options(model)))


def _format_options(model: PlannedModel) -> list[str]:
    """The options that change results."""
    chosen = [name.replace("_", "-") for name in _BY_NAME if model.options.get(name)]
    chosen += [str(model.options[name]) for name in _BY_VALUE if name in model.options]
    return chosen + [f"{key.replace('_', '-')}-{model.chat[key]}" for key in _OF_CHATS if key in model.chat]


def build_safe_name(text: str) -> str:
    """A name for a folder. Paths are cut to their last part, and models of servers to their name, with a hash.

    >>> build_safe_name("google-bert/bert-base-cased"), build_safe_name("published/single")
    ('google-bert--bert-base-cased', 'published--single')
    >>> build_safe_name("chat:small@http://localhost:8000/v1")
    'chat-small-f403c4'
    """
    whole = text
    is_path = text.startswith(("/", ".", "~")) or "://" in text or text.count("/") > 1 or "\\" in text
    served, _, _ = text.partition("://")[0].rpartition("@")
    if "://" in text and served:
        text = served
    elif is_path:
        text = re.split(r"[/\\]", text.rstrip("/\\"))[-1]
    name = re.sub(r"[^A-Za-z0-9._@+-]", "-", text.replace("/", "--")).strip(".-") or "model"
    if is_path or len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}-{sha256(whole.encode()).hexdigest()[:6]}"
    return name


def _split_by_language(text: str, plan: Plan) -> tuple[list[tuple[str, str, str]], tuple[str, ...]]:
    """The benchmark, language and specification of each language, and the languages that the benchmark lacks."""
    try:
        spec = parse_spec(text)
        if spec.path is not None:
            available = tuple(dict.fromkeys(item.language for item in load_file(spec.path)))
        else:
            available = tuple(dict.fromkeys(s.language for s in get_dataset(spec.name).select(spec.part)))
    except UsageError as error:
        raise DataError(f"{plan.path}: {error}") from error
    wanted = spec.languages or plan.languages or available
    name = spec.name if spec.part is None else f"{spec.name}/{spec.part}"
    found = [(name, language, f"{name}:{language}") for language in wanted if language in available]
    return found, tuple(language for language in wanted if language not in available)


def _reject_shared_folder(plan: Plan, models: tuple[ModelCells, ...]) -> None:
    seen: dict[str, str] = {}
    for entry in models:
        name = entry.folder.name.casefold()  # some file systems do not tell capitals from small letters
        other = seen.get(name)
        if other == entry.model.name:
            raise DataError(f"{plan.path} has {other} twice with the same options; leave one of them out.")
        if other is not None:
            raise DataError(
                f"{plan.path}: the runs of {other} and {entry.model.name} would have the same folder, "
                f"{entry.folder.name}; rename one of them, or put it into a plan of its own."
            )
        seen[name] = entry.model.name


def _reject_unknown_protocols(plan: Plan) -> None:
    """A DataError for a protocol by which none of the benchmarks is asked: before any model is."""
    known = {*(OF_CHAT_MODELS if any(model.name.startswith("chat:") for model in plan.models) else ())}
    for form in list_forms(plan.benchmarks):
        known |= get_benchmark(form).protocols.keys()
    for protocol in plan.protocols:
        if protocol not in known and _CASE.sub("", protocol) not in known:
            raise DataError(
                f"{plan.path}: none of its benchmarks has the protocol {protocol!r}{suggest_name(protocol, known)}; "
                f"there is {', '.join(sorted(known))}."
            )


def list_forms(specs: Iterable[str]) -> list[str]:
    """The forms of the items of these benchmarks; of a file, that of its first item."""
    found = set()
    for text in specs:
        spec = parse_spec(text)
        if spec.path is None:
            found.add(get_dataset(spec.name).form)
        else:
            found |= {get_item_form(item).name for item in load_file(spec.path)[:1]}
    return sorted(found)


def has_changed_since(made: Path, path: Path) -> bool:
    """Whether a file, or one of a folder's, was written, copied or moved there after another file was made.

    By the time at which its entry in the file system changed, which no program sets to an earlier one.
    """
    then = made.stat().st_mtime
    files = path.iterdir() if path.is_dir() else (path,)
    return any(max(file.stat().st_ctime, file.lstat().st_ctime) > then for file in files if file.is_file())
