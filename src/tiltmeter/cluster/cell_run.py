"""Measure all cells of a job with one open model; a cell is a run on one benchmark, language and protocol."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tiltmeter.cluster.job_stores import JobAnswers, JobReplies
from tiltmeter.cluster.plan_cells import ModelCells, PlannedCell
from tiltmeter.cluster.planned_training import train_planned_head
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.engine.speedups import apply_process_speedups
from tiltmeter.models.model_opener import AnyModel, select_disabled_speedups, use_model
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.options import ModelOptions
from tiltmeter.progress.progress import ShowProgress, hide_progress
from tiltmeter.runs.chat_run import ask_chat_models
from tiltmeter.runs.language_model_run import ask_model
from tiltmeter.runs.look_store import list_looks, record_looks
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.result_assembly import assemble_result
from tiltmeter.runs.run_preparation import PreparedRun, prepare_run
from tiltmeter.runs.translation_run import evaluate_translator
from tiltmeter.translators import open_translator


class OpenModel:
    """An open model, and the job whose cells (runs) are measured with the model."""

    def __init__(self, entry: ModelCells, model: AnyModel, options: ModelOptions, *, same_machine: bool) -> None:
        self._entry, self._model, self._options, self._same_machine = entry, model, options, same_machine

    def measure_cell(self, cell: PlannedCell, watch: ShowProgress) -> None:
        """Measure one cell (one run of the plan), and write the run to its folder; `watch` receives the progress."""
        began = time.monotonic()
        names, settings = [self._entry.model.name], self._entry.build_run_settings(cell)
        prepared = prepare_run(names, [cell.on], settings, self._options, self._entry.build_request(cell))
        with apply_process_speedups(select_disabled_speedups(plain=self._options.plain)):
            output = self._ask_model(prepared, watch)
        looks = record_looks(get_cache_folder(), list_looks(prepared, [output]))
        result = assemble_result(prepared, [output], looks, time.monotonic() - began)
        # Overwrite with `force`, because the folder may contain a run from an earlier version of the plan.
        result.save(self._entry.folder / cell.folder, force=True)

    def _ask_model(self, prepared: PreparedRun, watch: ShowProgress) -> ModelOutput:
        # Open the store of answers again for each cell: if one cell fails because the disk is full, the next cell can
        # still succeed.
        if isinstance(self._model, ChatModel):
            with JobReplies(self._entry.folder, same_machine=self._same_machine) as replies:
                outputs = ask_chat_models(
                    [self._model],
                    prepared,
                    replies,
                    watch=watch,
                    so_far=_ignore_value,
                    tell=_ignore_value,
                    keep_open=True,
                )
                return outputs[0]
        with JobAnswers(self._entry.folder, same_machine=self._same_machine) as answers:
            return ask_model(self._model, prepared, answers, watch, _ignore_value)


class OpenTranslator:
    """An open translation system, and the job whose cells (runs) are measured with the system."""

    def __init__(self, entry: ModelCells) -> None:
        self._entry, self._given = entry, dict(entry.model.translation or {})
        self._translator = open_translator(entry.model.name, beams=self._given.get("beams"), **entry.model.options)

    def measure_cell(self, cell: PlannedCell, watch: ShowProgress) -> None:
        """Translate the sentences of a cell (one run of the plan), and write the run to its folder."""
        folder, dtype = self._entry.folder / cell.folder, self._entry.model.options.get("dtype", "auto")
        evaluate_translator(
            self._translator,
            on=cell.on,
            limit=cell.limit,
            dtype=dtype,
            out=folder,
            force=True,
            watch=watch,
            **self._given,
        )


@contextmanager
def open_model_for_cells(
    entry: ModelCells, *, same_machine: bool, watch: ShowProgress = hide_progress
) -> Iterator[OpenModel | OpenTranslator]:
    """Open the model of a job; the weights are loaded later, and only if a question has no stored answer.

    If the model is a next-sentence head that is not trained yet, it is trained first; `watch` shows the progress.
    """
    train_planned_head(entry.model, watch)
    if entry.is_translator:
        yield OpenTranslator(entry)
        return
    options = entry.model.build_model_options(get_cache_folder())
    with ExitStack() as stack:
        model = stack.enter_context(use_model(entry.model.name, options))
        yield OpenModel(entry, model, options, same_machine=same_machine)


def _ignore_value(_value: object) -> None:
    """Ignore interim values and messages; a job reports its progress with `watch`."""
