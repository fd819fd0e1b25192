"""A model that is opened once for all cells of a job."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tiltmeter.cluster.job_stores import JobAnswers, JobReplies
from tiltmeter.cluster.plan_cells import ModelCells, PlannedCell
from tiltmeter.datasets.cache import cache_dir
from tiltmeter.engine.speedups import running
from tiltmeter.models.opening import Opened, left_out, opened
from tiltmeter.models.protocol import ChatModel
from tiltmeter.options import ModelOptions
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.runs.asking_models import ask_model
from tiltmeter.runs.chat_run import ask_chats
from tiltmeter.runs.finishing import finished
from tiltmeter.runs.model_run import ModelRun
from tiltmeter.runs.preparing import PreparedRun, prepare


class OpenModel:
    """A model with the stores of its job."""

    def __init__(self, entry: ModelCells, model: Opened, options: ModelOptions, *, same_machine: bool) -> None:
        self._entry, self._model, self._options, self._same_machine = entry, model, options, same_machine

    def measure(self, cell: PlannedCell, watch: ShowProgress) -> None:
        """Ask the model about a cell's items and write the cell's run."""
        began = time.monotonic()
        names, settings = [self._entry.model.name], self._entry.settings(cell)
        prepared = prepare(names, [cell.on], settings, self._options, self._entry.request(cell))
        with running(left_out(plain=self._options.plain)):
            run = self._asked(prepared, watch)
        result = finished(prepared, [run], time.monotonic() - began)
        # A run with other settings may be there, from before the plan was changed.
        result.save(self._entry.folder / cell.folder, force=True)

    def _asked(self, prepared: PreparedRun, watch: ShowProgress) -> ModelRun:
        # Opened for each cell: after a full disk, the next one tries again.
        if isinstance(self._model, ChatModel):
            with JobReplies(self._entry.folder, same_machine=self._same_machine) as replies:
                asked = ask_chats(
                    [self._model], prepared, replies, watch=watch, so_far=_nothing, tell=_nothing, keep_open=True
                )
                return asked[0]
        with JobAnswers(self._entry.folder, same_machine=self._same_machine) as answers:
            return ask_model(self._model, prepared, answers, watch, _nothing)


@contextmanager
def open_for_cells(entry: ModelCells, *, same_machine: bool) -> Iterator[OpenModel]:
    """Open a job's model; its weights are loaded when the first question without a stored answer comes."""
    options = entry.model.model_options(cache_dir())
    with ExitStack() as stack:
        model = stack.enter_context(opened(entry.model.name, options))
        yield OpenModel(entry, model, options, same_machine=same_machine)


def _nothing(_told: object) -> None:
    """Progress is told by `watch` alone."""
