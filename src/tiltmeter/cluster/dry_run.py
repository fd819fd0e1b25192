"""A forecast of a matrix for `--dry-run`: unfinished cells (runs), questions, stored answers and estimated time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.cluster.job_stores import ANSWERS, UnlockedAnswers
from tiltmeter.cluster.job_timings import load_timings
from tiltmeter.cluster.plan_cells import ModelCells, RunMatrix, list_forms
from tiltmeter.cluster.planned_training import is_trained
from tiltmeter.cluster.time_estimates import ModelEstimate, ModelSize, estimate_model
from tiltmeter.cluster.timing_store import Timing
from tiltmeter.datasets import parse_spec
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.dataset_loader import get_dataset
from tiltmeter.datasets.file_hashes import cache_hashes
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import TiltmeterError
from tiltmeter.models.checkpoint import EMBEDDED
from tiltmeter.models.model_opener import use_model
from tiltmeter.models.model_protocol import Model
from tiltmeter.models.scheme import find_scheme
from tiltmeter.questions import Kind
from tiltmeter.runs.portion_blocks import collect_question_digests
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.runs.run_preparation import prepare_run
from tiltmeter.runs.translation.translation_tasks import load_target
from tiltmeter.text_files import expand_home


@dataclass
class ModelForecast:
    """The remaining work for a model: its unfinished cells (runs), with their items, questions and stored answers.

    `open_cells` is the number of unfinished cells, and `answered` the number of questions with a stored answer.
    `replaced` is the number of unfinished cells that have an outdated run. `questions` is None if the questions cannot
    be counted; `why` is then the reason. `bytes` is the size of the weight files, if it is known. `fails` is True if
    the model cannot be opened.
    """

    entry: ModelCells
    open_cells: int
    replaced: int = 0
    items: int = 0
    bytes: int | None = None
    questions: int | None = None
    answered: int = 0
    why: str = ""
    fails: bool = False
    estimate: ModelEstimate = field(default_factory=lambda: ModelEstimate(""))


@cache_hashes()
def forecast_matrix(
    matrix: RunMatrix, report: Callable[[ModelForecast], None] = lambda _one: None
) -> list[ModelForecast]:
    """Return a forecast of the remaining work for each model of a matrix; call `report` with each forecast.

    Nothing is downloaded, and no weights are loaded.
    """
    timings = load_timings()
    forecasts = []
    for entry in matrix.models:
        one = _forecast_model(entry, timings)
        report(one)
        forecasts.append(one)
    return forecasts


def _forecast_model(entry: ModelCells, timings: list[Timing]) -> ModelForecast:
    cells = entry.unfinished_cells
    one = ModelForecast(entry, len(cells), sum((entry.folder / cell.folder / MANIFEST).is_file() for cell in cells))
    if not cells:
        return one
    if entry.is_translator:
        targets = [load_target(cell.on, entry.edition).limit_items(cell.limit) for cell in cells]
        texts = [text for target in targets for text in target.list_texts()]
        one.items = len(texts)
        one.why = f"{sum(map(len, texts)):,} characters to translate; the time of translation systems is unknown."
        return one
    missing = [cell.on for cell in cells if not _is_local(cell.on)]
    if missing:
        more = f" and {len(missing) - 1} more benchmarks" if len(missing) > 1 else ""
        one.why = f"Not downloaded yet: {missing[0]}{more}; download the data with --prefetch."
        return one
    options = entry.model.build_model_options(get_cache_folder())
    prepared = [
        prepare_run([entry.model.name], [cell.on], entry.build_run_settings(cell), options, entry.build_request(cell))
        for cell in cells
    ]
    one.items = sum(len(portion.items) for run in prepared for portion in run.chosen)
    size = ModelSize()
    if find_scheme(entry.model.name) is not None:
        one.why = "Questions to servers and chat models are not counted."
    elif not is_trained(entry.model):
        one.why = (
            f"The next-sentence head is trained first, from {', '.join((entry.model.training or {})['articles'])}."
        )
    elif not _has_files(entry.model.name):
        one.why = "The model is not downloaded yet; download it with --prefetch."
    else:
        try:
            with _disable_hub(), use_model(entry.model.name, options) as model:
                if isinstance(model, Model):
                    size = ModelSize(getattr(model, "size", None), model.kinds[0])
                    # Sets of digests, because several cells may ask the same question.
                    questions: dict[Kind, set[bytes]] = {}
                    for run in prepared:
                        for kind, digests in collect_question_digests(model, run).items():
                            questions.setdefault(kind, set()).update(digests)
                    one.questions = sum(map(len, questions.values()))
                    one.answered = sum(
                        _count_stored_answers(entry.folder, model.fingerprint(kind), digests)
                        for kind, digests in questions.items()
                    )
        except (TiltmeterError, OSError) as error:
            one.why, one.fails = str(error), True
    one.bytes = size.bytes
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
    """Prevent requests to the Hugging Face hub, for example to find a newer version of a model."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _count_stored_answers(folder: Path, fingerprint: str, digests: set[bytes]) -> int:
    """Return how many of the questions have an answer in the cache or in the store of the job in `folder`."""
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
    """Return whether a model is on this machine: as a path, as the model shipped with Tiltmeter, or as a download."""
    from huggingface_hub import snapshot_download

    for part in [name] if expand_home(name).exists() else name.split("+"):
        if expand_home(part).exists() or part == EMBEDDED:
            continue
        model_id, _, revision = part.partition("@")
        try:
            snapshot_download(model_id, revision=revision or None, local_files_only=True)
        except Exception:
            # The model is not downloaded, or its name is not a hub id.
            return False
    return True
