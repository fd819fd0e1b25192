"""The cells of a plan; a cell is the run of one model on one benchmark, language and protocol, in its own folder."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
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
from tiltmeter.models.model_opener import is_chat_model
from tiltmeter.models.option_scope import find_source
from tiltmeter.options import ChatOptions, ModelOptions, RunSettings, list_options
from tiltmeter.options.option_values import FLAG
from tiltmeter.runs.chat_run import PROTOCOLS as OF_CHAT_MODELS
from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES, finish_save
from tiltmeter.runs.run_preparation import build_request
from tiltmeter.runs.translation.translation_tasks import LATEST, is_translation_benchmark
from tiltmeter.runs.translation_run import build_translation_request
from tiltmeter.text_files import expand_home, read_json
from tiltmeter.translators import validate_system_name

_LONGEST_NAME = 100
# The protocol of translation systems: the gender of the speaker is detected by rules.
RULES = "rules"
# Matches the suffix of a protocol name that selects one variant of the protocol, such as /b.
_CASE = re.compile(r"/[a-z]$")


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One run of a plan; `on` is the benchmark with its language, and `folder` is relative to the model's folder.

    `perturb` is the perturbation that is applied to every item.
    """

    on: str
    protocol: str
    limit: int | None
    folder: str
    perturb: str | None = None


@dataclass(frozen=True)
class ModelCells:
    """A model of a plan with its cells (runs) and its folder; one job measures all these cells."""

    model: PlannedModel
    cells: tuple[PlannedCell, ...]
    folder: Path

    @property
    def label(self) -> str:
        """Return the name of the model for display, with the options that change its results."""
        options = _format_options(self.model)
        return f"{self.model.name} ({', '.join(options)})" if options else self.model.name

    @property
    def is_served(self) -> bool:
        """Return whether the model runs on a server, so that its job needs no GPU."""
        if self.is_translator:
            return not validate_system_name(self.model.name).is_local
        return find_source(self.model.name) in ("endpoint", "chat server")

    @property
    def edition(self) -> str:
        """Return the edition of GEST that a translation system translates."""
        return str((self.model.translation or {}).get("edition", LATEST))

    @property
    def is_translator(self) -> bool:
        """Return whether the model is a translation system."""
        return self.model.translation is not None

    def build_run_settings(self, cell: PlannedCell) -> RunSettings:
        """Return the settings for the run of a cell."""
        return RunSettings(
            protocol=cell.protocol, perturb=cell.perturb, limit=cell.limit, chat=self.model.build_chat_options()
        )

    def build_request(self, cell: PlannedCell) -> dict[str, Any]:
        """Return the request (models, benchmarks and options) of a cell, as the manifest of its run contains it.

        Raise an error if an option is not valid.
        """
        if self.model.translation is not None:
            name, given = self.model.name, self.model.translation
            validate_system_name(name)
            options = {key: given[key] for key in ("edition", "beams") if key in given}
            dtype = self.model.options.get("dtype", "auto")
            return build_translation_request(name, name, cell.on, limit=cell.limit, dtype=dtype, **options)
        model_options = self.model.build_model_options(get_cache_folder())
        return build_request([self.model.name], [cell.on], self.build_run_settings(cell), model_options)

    def is_finished(self, cell: PlannedCell) -> bool:
        """Return whether the folder of a cell contains a complete and current run.

        A run is current if its request is the request of the plan, and if the files of its model and items are older
        than the run.
        """
        folder = self.folder / cell.folder
        try:
            if not all((folder / name).is_file() for name in (MANIFEST, MEASURES, SCORES)):
                return False
            request = read_json(folder / MANIFEST).get("request")
            wanted = json.loads(json.dumps(self.build_request(cell)))
            if self.is_translator:
                # An open translation system may have another name than the plan; the folder identifies the system.
                request |= {key: wanted[key] for key in ("translator", "system")}
            if request != wanted:
                return False
            return not any(has_changed_since(folder / MANIFEST, path) for path in self.list_local_files(cell))
        except (TiltmeterError, OSError, AttributeError):
            return False

    def list_local_files(self, cell: PlannedCell) -> list[Path]:
        """Return the local files and folders that a cell's run uses: model, tokenizer and items."""
        after_scheme = self.model.name.partition(":")[2]
        names = [
            self.model.name,
            after_scheme,
            *self.model.name.split("+"),
            str(self.model.options.get("tokenizer", "")),
        ]
        items = parse_spec(cell.on).path
        return [*filter(Path.exists, map(expand_home, filter(None, dict.fromkeys(names)))), *([items] if items else [])]

    @property
    def unfinished_cells(self) -> list[PlannedCell]:
        """Return the cells (runs) that are not finished, in the order of the plan."""
        try:
            existing = {path.name for path in self.folder.iterdir()}
        except OSError:
            existing = set()
        return [cell for cell in self.cells if cell.folder not in existing or not self.is_finished(cell)]

    def finish_interrupted_saves(self) -> None:
        """Complete the saving of runs whose saving was interrupted; the caller must hold the lock of the job."""
        for cell in self.cells:
            # If the saving of a run cannot be completed, its cell is measured again.
            with suppress(TiltmeterError, OSError):
                finish_save(self.folder / cell.folder)

    @cached_property
    def digest(self) -> str:
        """Return a hash of the folders and requests of all cells; it changes if the plan of the model changes."""
        requests = [[cell.folder, self.build_request(cell)] for cell in self.cells]
        return sha256(json.dumps(requests, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class RunMatrix:
    """All cells (runs) of a plan; `lacking` maps a benchmark to the requested languages that it does not have.

    `plan` is the plan file of the matrix; None if the matrix was not made from a plan file.
    """

    plan: Plan | None
    out: Path
    models: tuple[ModelCells, ...]
    lacking: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def cell_count(self) -> int:
        """Return the number of cells (runs) of all models."""
        return sum(len(entry.cells) for entry in self.models)


def make_matrix(plan: Plan, out: Path) -> RunMatrix:
    """Return the matrix of a plan, with the folders of the cells (runs) inside `out`.

    Raise an error for an unknown benchmark, part or option. No model is opened, and nothing is downloaded.
    """
    lacking: dict[str, tuple[str, ...]] = {}
    for_systems = [text for text in plan.benchmarks if is_translation_benchmark(text)]
    cells = _list_cells(plan, [text for text in plan.benchmarks if text not in for_systems], plan.protocols, lacking)
    translated = _list_cells(plan, for_systems, (RULES,), lacking)
    entries = []
    for model in plan.models:
        own = translated if model.translation is not None else cells
        if not own:
            kind = "translation systems, such as gest-mt:sk" if own is translated else "language models"
            languages = f" with items in {', '.join(plan.languages)}" if plan.languages else ""
            raise UsageError(
                f"{plan.path} describes no run of {model.name}: it has no benchmark for {kind}{languages}; change "
                "`benchmarks` or `languages`."
            )
        entries.append(ModelCells(model, tuple(own.values()), expand_home(out) / get_folder_name(model)))
    models = tuple(entries)
    _reject_shared_folder(plan, models)
    _reject_unknown_protocols(plan)
    for entry in models:
        for cell in entry.cells[:1]:
            try:
                entry.build_request(cell)
            except UsageError as error:
                raise DataError(f"{plan.path}, model {entry.model.name}: {error}") from error
    return RunMatrix(plan, expand_home(out), models, lacking)


def _list_cells(
    plan: Plan, benchmarks: Iterable[str], protocols: Iterable[str], lacking: dict[str, tuple[str, ...]]
) -> dict[str, PlannedCell]:
    """Return a mapping from folder to cell (run); add the languages that a benchmark does not have to `lacking`."""
    cells: dict[str, PlannedCell] = {}
    for text in benchmarks:
        specs, missing = _split_by_language(text, plan)
        if missing:
            lacking[text] = missing
        for benchmark, language, on in specs:
            for protocol in protocols:
                folder = build_cell_folder(benchmark, language, protocol)
                cell = cells.setdefault(folder, PlannedCell(on, protocol, plan.limit, folder))
                if (cell.on, cell.protocol) != (on, protocol):
                    raise DataError(
                        f"{plan.path}: the runs on {cell.on} and {on} would have the same folder {folder}; rename one "
                        "of the files, with letters from a to z and digits."
                    )
    return cells


def build_cell_folder(benchmark: str, language: str, protocol: str, perturb: str = "") -> str:
    """Return the name of a cell's folder.

    >>> build_cell_folder("stereoset/intersentence", "en", "published/d")
    'stereoset--intersentence.en.published--d'
    """
    return ".".join(build_safe_name(part) for part in (benchmark, language, protocol, perturb) if part)


def get_folder_name(model: PlannedModel) -> str:
    """Return the name of a model's folder; it contains the name of the model and the options that change its results.

    >>> get_folder_name(PlannedModel(name="google-bert/bert-base-cased@main", options={"dtype": "bfloat16"}))
    'google-bert--bert-base-cased@main.bfloat16'
    """
    return ".".join(build_safe_name(part) for part in (model.name, *_format_options(model)))


def _format_options(model: PlannedModel) -> list[str]:
    """Return the options of a model that change results, as texts for the name of a folder.

    A flag is represented by its name, a chat option by its name and value, and any other option by its value.
    """
    changing = [option for option in list_options(ModelOptions) if option.changes_results]
    flags = [option.flag[2:] for option in changing if option.kind is FLAG and model.options.get(option.name)]
    values = [str(model.options[o.name]) for o in changing if o.kind is not FLAG and o.name in model.options]
    translation = [f"{key}-{value}" for key, value in (model.translation or {}).items() if key != "yes"]
    chat = [o for o in list_options(ChatOptions) if o.changes_results and o.name in model.chat]
    return [*flags, *values, *translation, *(f"{option.flag[2:]}-{model.chat[option.name]}" for option in chat)]


def build_safe_name(text: str) -> str:
    """Return a text as a valid folder name.

    A path is shortened to its last part, and the name of a model on a server to the part without the address; in both
    cases, a hash is added.

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
    if is_path or len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}-{sha256(whole.encode()).hexdigest()[:6]}"
    return name


def _split_by_language(text: str, plan: Plan) -> tuple[list[tuple[str, str, str]], tuple[str, ...]]:
    """Split a benchmark specification of a plan into one specification per language.

    Return a list of (benchmark, language, specification), and the requested languages that the benchmark does not have.
    """
    try:
        spec = parse_spec(text)
        if is_translation_benchmark(text):
            wanted = spec.languages or plan.languages
            return [(spec.name, language, f"{spec.name}:{language}") for language in wanted], ()
        if spec.path is not None:
            available = tuple(dict.fromkeys(item.language for item in load_file(spec.path)))
        else:
            available = tuple(dict.fromkeys(s.language for s in get_dataset(spec.name).select(spec.part)))
    except UsageError as error:
        raise DataError(f"{plan.path}: {error}") from error
    wanted = spec.languages or plan.languages or available
    name = spec.name if spec.part is None else f"{spec.name}/{spec.part}"
    specs = [(name, language, f"{name}:{language}") for language in wanted if language in available]
    return specs, tuple(language for language in wanted if language not in available)


def _reject_shared_folder(plan: Plan, models: tuple[ModelCells, ...]) -> None:
    seen: dict[str, str] = {}
    for entry in models:
        # Names are compared without letter case, because some file systems ignore case.
        name = entry.folder.name.casefold()
        other = seen.get(name)
        if other == entry.model.name:
            raise DataError(f"{plan.path} contains {other} twice with the same options; remove one of them.")
        if other is not None:
            raise DataError(
                f"{plan.path}: the runs of {other} and {entry.model.name} would have the same folder "
                f"{entry.folder.name}; rename one of the two models, or move it to another plan."
            )
        seen[name] = entry.model.name


def _reject_unknown_protocols(plan: Plan) -> None:
    """Raise a DataError if the plan has a protocol that no benchmark of the plan has."""
    known = {*(OF_CHAT_MODELS if any(is_chat_model(model.name) for model in plan.models) else ())}
    forms = list_forms(text for text in plan.benchmarks if not is_translation_benchmark(text))
    for form in forms:
        known |= get_benchmark(form).protocols.keys()
    for protocol in plan.protocols:
        if forms and protocol not in known and _CASE.sub("", protocol) not in known:
            raise DataError(
                f"{plan.path}: no benchmark of this plan has the protocol {protocol!r}{suggest_name(protocol, known)}; "
                f"choose from {', '.join(sorted(known))}."
            )


def list_forms(specs: Iterable[str]) -> list[str]:
    """Return the names of the item forms of benchmarks, sorted; the form of a file is the form of its first item."""
    forms = set()
    for text in specs:
        spec = parse_spec(text)
        if spec.path is None:
            forms.add(get_dataset(spec.name).form)
        else:
            forms |= {get_item_form(item).name for item in load_file(spec.path)[:1]}
    return sorted(forms)


def has_changed_since(reference: Path, path: Path) -> bool:
    """Return whether a file, or a file in a folder, was changed or moved there after `reference` was written.

    The function compares the change time (ctime), because programs such as `cp -p` can set the modification time.
    """
    made_at = reference.stat().st_mtime
    files = path.iterdir() if path.is_dir() else (path,)
    return any(max(file.stat().st_ctime, file.lstat().st_ctime) > made_at for file in files if file.is_file())
