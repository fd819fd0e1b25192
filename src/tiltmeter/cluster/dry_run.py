"""A forecast of a matrix for `--dry-run`: unfinished cells (runs), questions, stored answers and estimated time."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.cluster.job_stores import ANSWERS, UnlockedAnswers
from tiltmeter.cluster.plan_cells import ModelCells, RunMatrix, list_forms
from tiltmeter.cluster.planned_training import is_trained
from tiltmeter.datasets import parse_spec
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.dataset_loader import get_dataset
from tiltmeter.datasets.file_hashes import cache_hashes
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import TiltmeterError
from tiltmeter.models.model_opener import use_model
from tiltmeter.models.model_protocol import Model
from tiltmeter.models.scheme import find_scheme
from tiltmeter.questions import Kind
from tiltmeter.runs.offline_models import disable_hub, has_model_files
from tiltmeter.runs.portion_blocks import collect_question_lengths
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.runs.run_preparation import prepare_run
from tiltmeter.runs.run_timings import load_timings
from tiltmeter.runs.time_estimates import ModelEstimate, ModelSize, estimate_model
from tiltmeter.runs.timing_store import Timing
from tiltmeter.runs.translation.translation_tasks import load_target


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
    size, tokens = ModelSize(), None
    if find_scheme(entry.model.name) is not None:
        one.why = "Questions to servers and chat models are not counted."
    elif not is_trained(entry.model):
        one.why = (
            f"The next-sentence head is trained first, from {', '.join((entry.model.training or {})['articles'])}."
        )
    elif not has_model_files(entry.model.name):
        one.why = "The model is not downloaded yet; download it with --prefetch."
    else:
        try:
            with disable_hub(), use_model(entry.model.name, options) as model:
                if isinstance(model, Model):
                    size = ModelSize(getattr(model, "size", None), model.kinds[0])
                    # Questions by digest, because several cells may ask the same question.
                    questions: dict[Kind, dict[bytes, int]] = {}
                    for run in prepared:
                        for kind, lengths in collect_question_lengths(model, run).items():
                            questions.setdefault(kind, {}).update(lengths)
                    one.questions = sum(map(len, questions.values()))
                    tokens = sum(sum(lengths.values()) for lengths in questions.values())
                    one.answered = sum(
                        _count_stored_answers(entry.folder, model.fingerprint(kind), lengths.keys())
                        for kind, lengths in questions.items()
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
        tokens=tokens,
    )
    return one


def _count_stored_answers(folder: Path, fingerprint: str, digests: AbstractSet[bytes]) -> int:
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
