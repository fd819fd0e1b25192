"""Sets of reference results: published ones in the cache, and files and folders of users."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

import tiltmeter
from tiltmeter.comparing.reference_files import (
    SUFFIX,
    read_reference_file,
    read_reference_header,
    strip_texts,
    write_reference_file,
)
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.http_download import UnreachableServerError
from tiltmeter.datasets.local_files import is_local
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import DataError, TiltmeterError, UsageError
from tiltmeter.files import get_lock_mode
from tiltmeter.progress.progress import Progress, ReportProgress
from tiltmeter.runs.manifest_file import read_manifest
from tiltmeter.runs.nested_runs import list_nested_runs
from tiltmeter.runs.released_results import PublishedSet, ReleasedResult, load_published_sets
from tiltmeter.runs.result import Result
from tiltmeter.text_files import expand_home

# The value of `--with` that selects the published sets.
PUBLISHED = "published"
# The most files of a folder that are read.
_MOST_FILES = 5_000

# Pairs (benchmark, language).
Portions = AbstractSet[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class References:
    """Reference results with their names, without texts, and notes on results that are missing."""

    runs: Sequence[tuple[str, Result]]
    notes: Sequence[str] = ()


def load_references(source: str | Path, portions: Portions) -> References:
    """Return the reference results for these portions: those of published sets, of a reference file or of a folder.

    A folder may contain reference files or runs.
    """
    if source == PUBLISHED:
        return _load_published(portions)
    path = expand_home(source)
    if path.is_file():
        return References(_name_runs(path.stem, _read_files([path], portions)))
    folders = list_nested_runs(path)
    # The Parquet files in the folder of a run are not reference files.
    files = [file for file in _list_files(path) if file.parent not in folders]
    if not folders and not files:
        raise UsageError(_explain_missing_source(path))
    runs = [*_read_files(files, portions), *_load_runs(folders, portions)]
    return References(_name_runs(path.resolve().name, runs))


def get_published_set(name: str) -> PublishedSet:
    """Return the published set with this name; raise a UsageError if there is none."""
    sets = load_published_sets()
    if name not in sets:
        raise UsageError(
            f"There is no published set {name!r}{suggest_name(name, sets)}; the sets are {', '.join(sets)}."
        )
    return sets[name]


def get_published_file(published: PublishedSet, result: ReleasedResult) -> Path:
    """Return the path in the cache of a result of a published set; the file may not exist."""
    return get_cache_folder() / "references" / published.name / f"{result.name}{SUFFIX}"


def list_cached_files(published: PublishedSet, portions: Portions | None = None) -> list[Path]:
    """Return the files in the cache of a published set, for some portions or for all."""
    wanted = (r for r in published.results if portions is None or (r.benchmark, r.language) in portions)
    return [path for result in wanted if (path := get_published_file(published, result)).is_file()]


def find_published_sets(portions: Portions) -> list[PublishedSet]:
    """Return the published sets with results for one of these portions."""
    return [published for published in load_published_sets().values() if published.portions & portions]


def fetch_published_set(
    published: PublishedSet, report: ReportProgress, *, force: bool = False
) -> list[tuple[ReleasedResult, str]]:
    """Download and score the results of a set that are not in the cache; with `force`, all results.

    Return the results that are not available, each with the reason.
    """
    missing, unreachable = [], ""
    for number, result in enumerate(published.results):
        report(Progress(number, len(published.results), note=result.name))
        path = get_published_file(published, result)
        if not force and _is_current(path):
            continue
        if unreachable and not all(map(is_local, result.files)):
            # An earlier download failed without a network; each further attempt would take seconds.
            missing.append((result, unreachable))
            continue
        try:
            write_reference_file(path, [(result.name, result.fetch_and_score())])
        except TiltmeterError as error:
            unreachable = str(error) if isinstance(error.__cause__, UnreachableServerError) else ""
            missing.append((result, str(error)))
    report(Progress(len(published.results), len(published.results)))
    return missing


def add_references(runs: Sequence[tuple[str, Result]], target: Path, *, force: bool = False) -> list[Path]:
    """Add runs without texts to a reference file or a folder of such files; return the paths of the written files.

    In a folder, each run has its own file, so that several people can add runs. A run of the same name is replaced only
    with `force`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    # Without the lock, two people who add to the same file at the same time could overwrite each other's results.
    with FileLock(target.with_name(f".{target.name}.lock"), mode=get_lock_mode(target)):
        if target.suffix == SUFFIX and not target.is_dir():
            present = dict(read_reference_file(target)) if target.is_file() else {}
            contents = {target: [*present.items(), *runs]}
            taken = [name for name, _ in runs if name in present]
        else:
            contents = {target / f"{_build_file_name(name)}{SUFFIX}": [(name, result)] for name, result in runs}
            taken = [entries[0][0] for path, entries in contents.items() if path.exists()]
        if taken and not force:
            raise UsageError(f"{target} already contains {taken[0]}; choose another name with --name, or add --force.")
        for path, entries in contents.items():
            write_reference_file(path, list(dict(entries).items()))
        return list(contents)


def _build_file_name(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name).strip(".-") or "run"


def _is_current(path: Path) -> bool:
    """Return whether a file in the cache is complete and was written by this version of Tiltmeter."""
    try:
        return path.is_file() and read_reference_header(path).version == tiltmeter.__version__
    except DataError:
        return False


def _load_published(portions: Portions) -> References:
    sets = find_published_sets(portions)
    measured = ", ".join(sorted(f"{benchmark}:{language}" for benchmark, language in portions))
    if not sets:
        available = dict.fromkeys(benchmark for one in load_published_sets().values() for benchmark, _ in one.portions)
        raise UsageError(
            f"No published results for {measured} are known; measure the model on {', '.join(available)}, or use your "
            "own reference results with --with FOLDER."
        )
    runs: list[tuple[str, Result]] = []
    notes: list[str] = []
    for published in sets:
        found, damaged = _read_cached_files(list_cached_files(published, portions), portions)
        runs += _name_runs(published.name, found)
        notes += _list_set_notes(published, portions, measured, len(found), damaged)
    if not runs:
        raise UsageError(
            f"No published results for {measured} are in the cache; download and score them with "
            f"`tiltmeter reference fetch {' '.join(one.name for one in sets)}`."
        )
    return References(runs, notes)


def _read_cached_files(paths: Iterable[Path], portions: Portions) -> tuple[list[tuple[str, Result]], list[str]]:
    """Return the runs in files of the cache, and the names of damaged files, which can be downloaded again."""
    runs: list[tuple[str, Result]] = []
    damaged = []
    for path in paths:
        try:
            runs += _read_files([path], portions)
        except DataError:
            damaged.append(path.name)
    return runs, damaged


def _list_set_notes(
    published: PublishedSet, portions: Portions, measured: str, found: int, damaged: Sequence[str]
) -> Iterator[str]:
    """Yield notes on the source of a published set, and on its results that are not in the cache."""
    repository, fetch = published.repository, f"`tiltmeter reference fetch {published.name}`"
    if found:
        yield (
            f"{published.name} was computed from files of {repository.name} (licence: {repository.licence}): "
            f"{repository.citation}."
        )
    total = sum((result.benchmark, result.language) in portions for result in published.results)
    if found < total:
        yield (
            f"{published.name}: {found} of {total} results for {measured} are in the cache; download the others with "
            f"{fetch}."
        )
    if damaged:
        yield (
            f"{published.name}: {', '.join(damaged)} cannot be read, so the results are left out; download them again "
            f"with {fetch}."
        )


def _list_files(folder: Path) -> list[Path]:
    """Return the reference files in a folder and in its direct subfolders."""
    if not folder.is_dir():
        return []
    files = sorted(path for pattern in (f"*{SUFFIX}", f"*/*{SUFFIX}") for path in folder.glob(pattern))
    if len(files) > _MOST_FILES:
        raise UsageError(f"{folder} has more than {_MOST_FILES:,} reference files; name a folder with fewer files.")
    return files


def _read_files(paths: Iterable[Path], portions: Portions) -> Iterator[tuple[str, Result]]:
    for path in paths:
        yield from read_reference_file(path, portions)


def _load_runs(folders: Iterable[Path], portions: Portions) -> Iterator[tuple[str, Result]]:
    for folder in folders:
        if read_manifest(folder).portions & portions:
            yield folder.resolve().name, strip_texts(Result.load(folder))


def _name_runs(source: str, runs: Iterable[tuple[str, Result]]) -> list[tuple[str, Result]]:
    """Return the runs with distinct names that contain the name of their source."""
    named: dict[str, Result] = {}
    for name, result in runs:
        unique, number = f"{source}/{name}", 2
        while unique in named:
            unique, number = f"{source}/{name} {number}", number + 1
        named[unique] = result
    return list(named.items())


def _explain_missing_source(path: Path) -> str:
    if path.exists():
        return f"{path} has neither reference files nor runs; add runs with `tiltmeter reference add RUN --to {path}`."
    return (
        f"{path} does not exist; --with needs `{PUBLISHED}`, a reference file, or a folder with reference files or "
        "runs."
    )
