"""A model that is opened once for all cells of a job."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tiltmeter.cluster.job_stores import JobAnswers, JobReplies
from tiltmeter.cluster.plan_cells import ModelCells, PlannedCell
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.engine.speedups import apply_process_speedups
from tiltmeter.errors import UsageError
from tiltmeter.models.model_opener import AnyModel, select_disabled_speedups, use_model
from tiltmeter.models.model_protocol import ChatModel, ModelOptions
from tiltmeter.runs.chat_run import ask_chats
from tiltmeter.runs.language_model_run import Watch, ask_model
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.preparation import MIXED, PreparedRun, prepare_run
from tiltmeter.runs.result_assembly import assemble_result


class OpenModel:
    """A model with the stores of its job."""

    def __init__(self, entry: ModelCells, model: AnyModel, options: ModelOptions, *, same_machine: bool) -> None:
        self._entry, self._model, self._options, self._same_machine = entry, model, options, same_machine

    def measure(self, cell: PlannedCell, watch: Watch) -> None:
        """Ask the model about a cell's items and write the cell's run."""
        began = time.monotonic()
        names, settings = [self._entry.model.name], self._entry.settings(cell)
        prepared = prepare_run(names, [cell.on], settings, self._options, self._entry.request(cell))
        with apply_process_speedups(select_disabled_speedups(plain=self._options.plain)):
            run = self._asked(prepared, watch)
        result = assemble_result(prepared, [run], time.monotonic() - began)
        # A run with other settings may be there, from before the plan was changed.
        result.save(self._entry.folder / cell.folder, force=True)

    def _asked(self, prepared: PreparedRun, watch: Watch) -> ModelOutput:
        if isinstance(self._model, ChatModel) != prepared.is_chat:
            raise UsageError(MIXED)
        # Opened for each cell: after a full disk, the next one tries again.
        if isinstance(self._model, ChatModel):
            with JobReplies(self._entry.folder, same_machine=self._same_machine) as replies:
                asked = ask_chats(
                    [self._model], prepared, replies, watch=watch, so_far=_ignore, tell=_ignore, keep_open=True
                )
                return asked[0]
        with JobAnswers(self._entry.folder, same_machine=self._same_machine) as answers:
            return ask_model(self._model, prepared, answers, watch, _ignore)


@contextmanager
def open_for_cells(entry: ModelCells, *, same_machine: bool) -> Iterator[OpenModel]:
    """Open a job's model; its weights are loaded when the first question without a stored answer comes."""
    options = entry.model.build_model_options(get_cache_folder())
    with ExitStack() as stack:
        model = stack.enter_context(use_model(entry.model.name, options))
        yield OpenModel(entry, model, options, same_machine=same_machine)


def _ignore(_told: object) -> None:
    """Progress is told by `watch` alone."""
