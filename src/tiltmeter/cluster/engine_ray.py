"""The engine that runs jobs as tasks of a Ray cluster: an existing cluster, or a new one on this machine.

Ray assigns CPUs and GPUs to tasks, and restarts a task if its worker process or node is lost. The folder of the matrix
must be on a file system that all nodes share; each node has its own caches of models and data.
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

# Maximum number of restarts of a task whose worker or node was lost. The number is limited, because a job may need more
# memory than the node has, and would be lost each time.
RETRIES = 20
# Seconds between cancelling tasks and killing them.
_PATIENCE = 20.0
# In seconds: the timeout of a connection, the time between two checks of the cluster, and the time without an answer
# after which the cluster counts as lost.
_CONNECT_TIMEOUT, _CHECK_INTERVAL, _LOST_AFTER = 10.0, 5.0, 30.0
_HOST_AND_PORT = re.compile(r"(?:ray://)?(?P<host>[^/]+):(?P<port>\d{1,5})")
# Environment variables whose values on this machine are passed to all nodes.
_PASSED_VARIABLES = ("TILTMETER_MIRROR", "TILTMETER_OFFLINE", "HF_HUB_OFFLINE", "HF_ENDPOINT")


class RayEngine:
    """Runs each job as one task of a Ray cluster."""

    continues_after_exit = False

    def __init__(self, address: str | None, prefetched: PrefetchedFiles = NOTHING, *, retries: int = RETRIES) -> None:
        try:
            import ray
        except ImportError as error:
            raise UsageError(
                f"--engine ray needs the package ray ({error}); install it with pip install 'tiltmeter[ray]'."
            ) from error
        self._ray: Any = ray
        self._prefetched, self._retries = prefetched, retries
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            self._connect_to_cluster(address)
        self._gpus = any(node["Resources"].get("GPU", 0) for node in self._list_alive_nodes())
        self._tasks: dict[Any, ModelCells] = {}
        self._probe: Path | None = None
        self._head, self._last_contact = self._find_reachable_head_node(), time.monotonic()

    def _connect_to_cluster(self, address: str | None) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address is None:
            options |= {"address": "local", "include_dashboard": False}
        else:
            options |= {"address": address}
        try:
            if address is not None:
                # Check the address first, because Ray itself would retry for minutes.
                _reject_unreachable_cluster(address)
            self._ray.init(**options)
        except (ValueError, RuntimeError, OSError, OverflowError) as error:
            raise UsageError(
                f"Cannot connect to the Ray cluster {address or 'on this machine'} ({_format_error(error)}); "
                "check --address, and that `ray status` works."
            ) from error

    def _list_alive_nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def start_jobs(self, entries: Sequence[ModelCells]) -> None:
        """Submit a task for each job."""
        if not entries:
            return
        for entry in entries:
            self._reject_too_large_job(entry, self._get_resources(entry))
        self._probe = entries[0].folder.parent.resolve() / f".probe-{uuid.uuid4().hex}"
        self._probe.touch()
        variables = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        for entry in entries:
            resources = self._get_resources(entry)
            own = build_job_environment(entry, self._prefetched)
            if not resources["num_gpus"]:
                own["CUDA_VISIBLE_DEVICES"] = ""
            # max_calls=1 ends a worker process after its task, which frees the GPU memory.
            task = self._ray.remote(max_calls=1)(_run_job).options(
                **resources,
                name=f"tiltmeter {entry.folder.name}",
                max_retries=self._retries,
                runtime_env={"env_vars": {**variables, **own}},
            )
            reference = task.remote(str(entry.folder.resolve()), str(self._probe), self._retries)
            self._tasks[reference] = entry

    def _get_resources(self, entry: ModelCells) -> dict[str, Any]:
        gpus = entry.model.gpus
        if gpus is None:
            gpus = int(self._gpus and not entry.is_served)
        resources: dict[str, Any] = {"num_cpus": entry.model.cpus, "num_gpus": gpus}
        if entry.model.memory_gb is not None:
            resources["memory"] = int(entry.model.memory_gb * 2**30)
        return resources

    def _reject_too_large_job(self, entry: ModelCells, resources: dict[str, Any]) -> None:
        """Raise a UsageError if no node has enough resources for a job, because its task would wait for ever."""
        names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
        for node in self._list_alive_nodes():
            if all(node["Resources"].get(names[key], 0) >= amount for key, amount in resources.items()):
                return
        needs = ", ".join(f"{amount} {names[key]}" for key, amount in resources.items() if amount)
        raise UsageError(
            f"{entry.model.name} needs {needs}, but no node of the Ray cluster has that much; change `gpus`, `cpus` or "
            "`memory_gb` in the plan."
        )

    def is_started(self, _entry: ModelCells) -> bool:
        """Return False: no task of an earlier command is still running, because tasks end with the command."""
        return False

    def take_ended_jobs(self) -> Iterator[tuple[ModelCells, JobOutcome]]:
        """Yield the jobs whose tasks have ended since the last call, with their outcomes."""
        if not self._tasks:
            return
        self._reject_lost_cluster()
        ended, _ = self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        for reference in ended:
            yield self._tasks.pop(reference), self._get_outcome(reference)

    def _find_reachable_head_node(self) -> str | None:
        """Return the address of the cluster's head node; None if it cannot be reached directly, as behind a proxy."""
        with suppress(OSError, AttributeError, RuntimeError):
            head = str(self._ray.get_runtime_context().gcs_address)
            _reject_unreachable_cluster(head)
            return head
        return None

    def _reject_lost_cluster(self) -> None:
        """Raise a UsageError if the head node is lost, because Ray would end this process without a message."""
        now = time.monotonic()
        if self._head is None or now - self._last_contact < _CHECK_INTERVAL:
            return
        try:
            _reject_unreachable_cluster(self._head)
            self._last_contact = now
        except OSError as error:
            if now - self._last_contact >= _LOST_AFTER:
                # Tasks of a lost cluster cannot be cancelled, so they are forgotten.
                self._tasks.clear()
                raise UsageError(
                    f"Lost the connection to the Ray cluster ({_format_error(error)}); restart the cluster and run the "
                    "same command again. Stored answers are reused."
                ) from error

    def _get_outcome(self, reference: Any) -> JobOutcome:
        try:
            outcome: JobOutcome = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            return build_failure(f"The Ray task failed: {_format_error(error.cause or error)}.")
        except self._ray.exceptions.RayError as error:
            return build_failure(f"Ray ended the task: {_format_error(error)}.")
        return outcome

    def stop_jobs(self) -> None:
        """Cancel all tasks, and disconnect from the cluster.

        Tasks that do not end in time are killed; if the user interrupts again, they are killed at once.
        """
        # These errors mean that the cluster is lost, so there is nothing to cancel.
        with suppress(self._ray.exceptions.RayError, ConnectionError, RuntimeError):
            try:
                self._cancel_tasks(force=False)
                if self._tasks:
                    self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=_PATIENCE)
            finally:
                self._cancel_tasks(force=True)
        self._tasks.clear()
        if self._probe is not None:
            self._probe.unlink(missing_ok=True)
        if self._is_ours:
            self._ray.shutdown()

    def _cancel_tasks(self, *, force: bool) -> None:
        for reference in self._tasks:
            self._ray.cancel(reference, force=force)


def _reject_unreachable_cluster(address: str) -> None:
    """Raise an OSError if there is no server at HOST:PORT; other addresses, such as `auto`, are not checked."""
    if match := _HOST_AND_PORT.fullmatch(address):
        socket.create_connection((match["host"].strip("[]"), int(match["port"])), _CONNECT_TIMEOUT).close()


def _format_error(error: BaseException) -> str:
    """Return the type of an error and the first line of its message."""
    first, *_ = [*str(error).strip().splitlines(), ""]
    return f"{type(error).__name__}: {first[:200]}"


def _run_job(folder: str, probe: str, retries: int) -> JobOutcome:
    """Run the job in a folder on a node of the cluster; `probe` is a file that exists if the node shares the folder."""
    import ray

    if not Path(probe).exists():
        return build_failure(
            f"The node {socket.gethostname()} cannot access {Path(probe).parent}; choose a folder on a shared file "
            "system with --out."
        )
    call = Path(probe).name
    before = read_state(Path(folder))
    attempt = before.get("attempt", 0) + 1 if before.get("call") == call else 1
    # Attempts are counted here, because Ray does not limit restarts after a node ran out of memory.
    if attempt > retries + 1:
        return build_failure(f"The worker was killed {attempt - 1} times, perhaps because memory ran out.")
    return run_job(Path(folder), call, node=ray.get_runtime_context().get_node_id(), attempt=attempt)
