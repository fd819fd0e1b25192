"""What a matrix would do, without doing it: cells, questions, those that are answered already, and the time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.cluster.job_stores import ANSWERS, UnlockedAnswers
from tiltmeter.cluster.job_timings import known_timings
from tiltmeter.cluster.plan_cells import ModelCells, RunMatrix, forms_of
from tiltmeter.cluster.time_estimates import ModelEstimate, ModelSize, estimate_model
from tiltmeter.cluster.timings import Timing
from tiltmeter.datasets import parse_spec
from tiltmeter.datasets.by_name import dataset
from tiltmeter.datasets.cache import cache_dir
from tiltmeter.datasets.hashing import hashed_once
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import TiltmeterError
from tiltmeter.models.checkpoint import EMBEDDED
from tiltmeter.models.opening import opened
from tiltmeter.models.protocol import Model
from tiltmeter.models.scheme import find_scheme
from tiltmeter.questions import Kind
from tiltmeter.reading import home_path
from tiltmeter.runs.asked_portions import questions_of
from tiltmeter.runs.preparing import prepare
from tiltmeter.runs.run_files import MANIFEST


@dataclass
class ModelForecast:
    """What is left to do of a model: unfinished cells, their items and questions, and those answered already.

    `questions` is None where they cannot be counted, and `why` says why; `fails` if it cannot be opened.
    """

    entry: ModelCells
    open_cells: int
    replaced: int = 0
    items: int = 0
    questions: int | None = None
    answered: int = 0
    why: str = ""
    fails: bool = False
    estimate: ModelEstimate = field(default_factory=lambda: ModelEstimate(""))


@hashed_once()
def forecast(matrix: RunMatrix, tell: Callable[[ModelForecast], None] = lambda _one: None) -> list[ModelForecast]:
    """The forecast of each model. Nothing is downloaded or sent, and no weights are loaded."""
    timings = known_timings()
    found = []
    for entry in matrix.models:
        one = _forecast(entry, timings)
        tell(one)
        found.append(one)
    return found


def _forecast(entry: ModelCells, timings: list[Timing]) -> ModelForecast:
    cells = entry.unfinished
    one = ModelForecast(entry, len(cells), sum((entry.folder / cell.folder / MANIFEST).is_file() for cell in cells))
    if not cells:
        return one
    missing = [cell.on for cell in cells if not _is_here(cell.on)]
    if missing:
        one.why = f"{_first(missing)} {'is' if len(missing) == 1 else 'are'} not on this machine yet; see --prefetch."
        return one
    options = entry.model.model_options(cache_dir())
    prepared = [
        prepare([entry.model.name], [cell.on], entry.settings(cell), options, entry.request(cell)) for cell in cells
    ]
    one.items = sum(len(portion.items) for run in prepared for portion in run.chosen)
    size = ModelSize()
    if find_scheme(entry.model.name) is not None:
        one.why = "Questions of models behind servers and of chat models are not counted."
    elif not _has_files(entry.model.name):
        one.why = "Its files are not on this machine yet; see --prefetch."
    else:
        try:
            with _without_hub(), opened(entry.model.name, options) as model:
                if isinstance(model, Model):
                    size = ModelSize(getattr(model, "size", None), model.kinds[0])
                    asked: dict[Kind, set[bytes]] = {}  # cells may share questions
                    for run in prepared:
                        for kind, digests in questions_of(model, run).items():
                            asked.setdefault(kind, set()).update(digests)
                    one.questions = sum(map(len, asked.values()))
                    one.answered = sum(
                        _stored(entry.folder, model.fingerprint(kind), digests) for kind, digests in asked.items()
                    )
        except (TiltmeterError, OSError) as error:
            one.why, one.fails = str(error), True
    forms = " ".join(forms_of([cell.on for cell in cells]))
    unanswered = 1 - one.answered / one.questions if one.questions else 1.0
    one.estimate = estimate_model(
        entry.model.name,
        size,
        forms,
        cells[0].protocol,
        one.items,
        timings,
        runs=len(cells),
        unanswered=unanswered,
    )
    return one


@contextmanager
def _without_hub() -> Iterator[None]:
    """Keep the client of the hub from asking for a newer version of a model, or for files that it lacks."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _stored(folder: Path, fingerprint: str, digests: set[bytes]) -> int:
    """How many questions are answered in the cache or in the job's own store."""
    found: set[bytes] = set()
    if (cache_dir() / ANSWERS).is_file():
        with AnswerStore(cache_dir() / ANSWERS) as cache:
            found |= cache.get(fingerprint, digests).keys()
    if (folder / ANSWERS).is_file():
        with UnlockedAnswers(folder / ANSWERS) as own:
            found |= own.get(fingerprint, digests - found).keys()
    return len(found)


def _is_here(text: str) -> bool:
    spec = parse_spec(text)
    if spec.path is not None:
        return spec.path.is_file()
    return all(source.is_local() for source in dataset(spec.name).select(spec.part, spec.languages))


def _has_files(name: str) -> bool:
    """Whether a model's files are on this machine: a path, the embedded model, or a download of the hub."""
    from huggingface_hub import snapshot_download

    for part in [name] if home_path(name).exists() else name.split("+"):
        if home_path(part).exists() or part == EMBEDDED:
            continue
        model_id, _, revision = part.partition("@")
        try:
            snapshot_download(model_id, revision=revision or None, local_files_only=True)
        except Exception:  # not there, or no hub id
            return False
    return True


def _first(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
