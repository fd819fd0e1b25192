"""What a matrix would do, without doing it: cells, questions, those that are answered already, and the time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.cluster.job_stores import ANSWERS, UnlockedAnswers
from tiltmeter.cluster.job_timings import load_timings
from tiltmeter.cluster.plan_cells import ModelCells, RunMatrix, list_forms
from tiltmeter.cluster.time_estimates import ModelEstimate, ModelSize, estimate_model
from tiltmeter.cluster.timing_store import Timing
from tiltmeter.datasets import parse_spec
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.dataset_loader import get_dataset
from tiltmeter.datasets.file_hashes import cache_hashes
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import TiltmeterError
from tiltmeter.models.checkpoint import EMBEDDED
from tiltmeter.models.model_opener import find_scheme, use_model
from tiltmeter.models.model_protocol import Model
from tiltmeter.questions import Kind
from tiltmeter.runs.portion_blocks import collect_question_digests
from tiltmeter.runs.preparation import prepare_run
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.text_files import expand_home


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


@cache_hashes()
def forecast(matrix: RunMatrix, tell: Callable[[ModelForecast], None] = lambda _one: None) -> list[ModelForecast]:
    """The forecast of each model. Nothing is downloaded or sent, and no weights are loaded."""
    timings = load_timings()
    found = []
    for entry in matrix.models:
        one = _forecast_model(entry, timings)
        tell(one)
        found.append(one)
    return found


def _forecast_model(entry: ModelCells, timings: list[Timing]) -> ModelForecast:
    cells = entry.unfinished
    one = ModelForecast(entry, len(cells), sum((entry.folder / cell.folder / MANIFEST).is_file() for cell in cells))
    if not cells:
        return one
    missing = [cell.on for cell in cells if not _is_local(cell.on)]
    if missing:
        one.why = (
            f"{_format_names(missing)} {'is' if len(missing) == 1 else 'are'} not on this machine yet; see --prefetch."
        )
        return one
    options = entry.model.build_model_options(get_cache_folder())
    prepared = [
        prepare_run([entry.model.name], [cell.on], entry.settings(cell), options, entry.request(cell)) for cell in cells
    ]
    one.items = sum(len(portion.items) for run in prepared for portion in run.chosen)
    size = ModelSize()
    if find_scheme(entry.model.name) is not None:
        one.why = "Questions of models behind servers and of chat models are not counted."
    elif not _has_files(entry.model.name):
        one.why = "Its files are not on this machine yet; see --prefetch."
    else:
        try:
            with _disable_hub(), use_model(entry.model.name, options) as model:
                if isinstance(model, Model):
                    size = ModelSize(getattr(model, "size", None), model.kinds[0])
                    asked: dict[Kind, set[bytes]] = {}  # cells may share questions
                    for run in prepared:
                        for kind, digests in collect_question_digests(model, run).items():
                            asked.setdefault(kind, set()).update(digests)
                    one.questions = sum(map(len, asked.values()))
                    one.answered = sum(
                        _count_stored(entry.folder, model.fingerprint(kind), digests) for kind, digests in asked.items()
                    )
        except (TiltmeterError, OSError) as error:
            one.why, one.fails = str(error), True
    forms = " ".join(list_forms([cell.on for cell in cells]))
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
def _disable_hub() -> Iterator[None]:
    """Keep the client of the hub from asking for a newer version of a model, or for files that it lacks."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _count_stored(folder: Path, fingerprint: str, digests: set[bytes]) -> int:
    """How many questions are answered in the cache or in the job's own store."""
    found: set[bytes] = set()
    if (get_cache_folder() / ANSWERS).is_file():
        with AnswerStore(get_cache_folder() / ANSWERS) as cache:
            found |= cache.get(fingerprint, digests).keys()
    if (folder / ANSWERS).is_file():
        with UnlockedAnswers(folder / ANSWERS) as own:
            found |= own.get(fingerprint, digests - found).keys()
    return len(found)


def _is_local(text: str) -> bool:
    spec = parse_spec(text)
    if spec.path is not None:
        return spec.path.is_file()
    return all(source.is_local() for source in get_dataset(spec.name).select(spec.part, spec.languages))


def _has_files(name: str) -> bool:
    """Whether a model's files are on this machine: a path, the embedded model, or a download of the hub."""
    from huggingface_hub import snapshot_download

    for part in [name] if expand_home(name).exists() else name.split("+"):
        if expand_home(part).exists() or part == EMBEDDED:
            continue
        model_id, _, revision = part.partition("@")
        try:
            snapshot_download(model_id, revision=revision or None, local_files_only=True)
        except Exception:  # not there, or no hub id
            return False
    return True


def _format_names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
