"""Jobs as tasks of a Ray cluster: an existing one by its address, or one that is started on this machine.

Ray gives out the CPUs and GPUs of its nodes, and starts a task again whose worker was killed or whose node was lost.
The folder of the matrix must be the same on all nodes; caches of models and data are those of each node.
"""

import os
import re
import socket
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tiltmeter.cluster.job_engine import build_job_environment
from tiltmeter.cluster.job_state import read_state
from tiltmeter.cluster.model_job import JobOutcome, build_failure, run_job
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.cluster.prefetch import NOTHING, PrefetchedFiles
from tiltmeter.errors import UsageError

# How often a task is started again whose worker or node was lost: not for ever, for a job may exhaust the memory.
RETRIES = 20
# Seconds that tasks have to end after they were asked to.
_PATIENCE = 20.0
# Seconds to wait for the port of a cluster, between two looks at it, and after which it is lost.
_CONNECT, _LOOK, _LOST_AFTER = 10.0, 5.0, 30.0
_HOST_AND_PORT = re.compile(r"(?:ray://)?(?P<host>[^/]+):(?P<port>\d{1,5})")
# Set by the user for this machine; other nodes have their own.
_FOR_ALL_NODES = ("TILTMETER_MIRROR", "TILTMETER_OFFLINE", "HF_HUB_OFFLINE", "HF_ENDPOINT")


class RayEngine:
    """Each job is one task, on whichever node has the CPUs and GPUs that it needs."""

    goes_on = False

    def __init__(self, address: str | None, prefetched: PrefetchedFiles = NOTHING, *, retries: int = RETRIES) -> None:
        try:
            import ray
        except ImportError as error:
            raise UsageError(
                f"--engine ray needs the package ray ({error}): install it with pip install 'tiltmeter[ray]'."
            ) from error
        self._ray: Any = ray
        self._prefetched, self._retries = prefetched, retries
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            self._connect(address)
        self._gpus = any(node["Resources"].get("GPU", 0) for node in self._nodes())
        self._tasks: dict[Any, ModelCells] = {}
        self._probe: Path | None = None
        self._head, self._answered = self._find_reachable_head(), time.monotonic()

    def _connect(self, address: str | None) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address is None:
            options |= {"address": "local", "include_dashboard": False}
        else:
            options |= {"address": address}
        try:
            if address is not None:
                _reject_unreachable(address)  # Ray itself tries for minutes
            self._ray.init(**options)
        except (ValueError, RuntimeError, OSError, OverflowError) as error:
            raise UsageError(
                f"The Ray cluster {address or 'on this machine'} cannot be used ({_format_error(error)}); "
                "check --address and "
                "`ray status`."
            ) from error

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def start(self, entries: Sequence[ModelCells]) -> None:
        """Submit a task for each job."""
        if not entries:
            return
        for entry in entries:
            self._reject_too_large(entry, self._wanted(entry))
        self._probe = entries[0].folder.parent.resolve() / f".probe-{uuid.uuid4().hex}"
        self._probe.touch()
        variables = {name: os.environ[name] for name in _FOR_ALL_NODES if name in os.environ}
        for entry in entries:
            wanted = self._wanted(entry)
            own = build_job_environment(entry, self._prefetched)
            if not wanted["num_gpus"]:
                own["CUDA_VISIBLE_DEVICES"] = ""
            # A worker process ends with its task, which frees the memory of GPUs.
            task = self._ray.remote(max_calls=1)(_run_job).options(
                **wanted,
                name=f"tiltmeter {entry.folder.name}",
                max_retries=self._retries,
                runtime_env={"env_vars": {**variables, **own}},
            )
            reference = task.remote(str(entry.folder.resolve()), str(self._probe), self._retries)
            self._tasks[reference] = entry

    def _wanted(self, entry: ModelCells) -> dict[str, Any]:
        gpus = entry.model.gpus
        if gpus is None:
            gpus = int(self._gpus and not entry.is_served)
        wanted: dict[str, Any] = {"num_cpus": entry.model.cpus, "num_gpus": gpus}
        if entry.model.memory_gb is not None:
            wanted["memory"] = int(entry.model.memory_gb * 2**30)
        return wanted

    def _reject_too_large(self, entry: ModelCells, wanted: dict[str, Any]) -> None:
        """A UsageError if no node is large enough; the task would wait for ever."""
        names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
        nodes = self._nodes()
        if not any(all(node["Resources"].get(names[key], 0) >= need for key, need in wanted.items()) for node in nodes):
            needs = ", ".join(f"{need} {names[key]}" for key, need in wanted.items() if need)
            raise UsageError(f"{entry.model.name} needs {needs}, and no node of the Ray cluster has that much.")

    def is_started(self, _entry: ModelCells) -> bool:
        """False: tasks end with the call."""
        return False

    def ended(self) -> Iterator[tuple[ModelCells, JobOutcome]]:
        """The tasks that have ended since the last call."""
        if not self._tasks:
            return
        self._reject_lost_cluster()
        over, _ = self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        for reference in over:
            yield self._tasks.pop(reference), self._outcome(reference)

    def _find_reachable_head(self) -> str | None:
        """The address of the cluster's head; None if it cannot be reached from here, as through a proxy."""
        with suppress(OSError, AttributeError, RuntimeError):
            head = str(self._ray.get_runtime_context().gcs_address)
            _reject_unreachable(head)
            return head
        return None

    def _reject_lost_cluster(self) -> None:
        """A UsageError if the head of the cluster is gone; Ray would end this process after a minute, with no word."""
        now = time.monotonic()
        if self._head is None or now - self._answered < _LOOK:
            return
        try:
            _reject_unreachable(self._head)
            self._answered = now
        except OSError as error:
            if now - self._answered >= _LOST_AFTER:
                self._tasks.clear()  # nobody is there to cancel them
                raise UsageError(
                    f"The Ray cluster was lost ({_format_error(error)}); "
                    "start it again, and the same command goes on from "
                    "what is stored."
                ) from error

    def _outcome(self, reference: Any) -> JobOutcome:
        try:
            outcome: JobOutcome = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            return build_failure(f"Its task failed on the node: {_format_error(error.cause or error)}.")
        except self._ray.exceptions.RayError as error:
            return build_failure(f"Ray ended its task: {_format_error(error)}.")
        return outcome

    def stop(self) -> None:
        """End what runs, and leave the cluster; what tasks stored is kept. If this is interrupted, they are killed."""
        with suppress(self._ray.exceptions.RayError, ConnectionError, RuntimeError):  # a cluster that is lost
            try:
                self._cancel(force=False)
                if self._tasks:
                    self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=_PATIENCE)
            finally:
                self._cancel(force=True)
        self._tasks.clear()
        if self._probe is not None:
            self._probe.unlink(missing_ok=True)
        if self._is_ours:
            self._ray.shutdown()

    def _cancel(self, *, force: bool) -> None:
        for reference in self._tasks:
            self._ray.cancel(reference, force=force)


def _reject_unreachable(address: str) -> None:
    """An OSError if nobody listens at an address with a port; others, such as `auto`, are for Ray to find."""
    if match := _HOST_AND_PORT.fullmatch(address):
        socket.create_connection((match["host"].strip("[]"), int(match["port"])), _CONNECT).close()


def _format_error(error: BaseException) -> str:
    """The first line of an error, with its kind."""
    first, *_ = [*str(error).strip().splitlines(), ""]
    return f"{type(error).__name__}: {first[:200]}"


def _run_job(folder: str, probe: str, retries: int) -> JobOutcome:
    """Do a job on a node of the cluster."""
    import ray

    if not Path(probe).exists():
        where = socket.gethostname()
        return build_failure(
            f"The node {where} does not see {Path(probe).parent}; put --out on a file system that all nodes share."
        )
    call = Path(probe).name
    before = read_state(Path(folder))
    attempt = before.get("attempt", 0) + 1 if before.get("call") == call else 1
    if attempt > retries + 1:  # Ray itself does not count the times that a node's memory was exhausted
        return build_failure(f"Its worker was killed {attempt - 1} times, perhaps for lack of memory.")
    return run_job(Path(folder), call, node=ray.get_runtime_context().get_node_id(), attempt=attempt)
