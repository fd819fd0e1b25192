"""Jobs as tasks of a Ray cluster: an existing one by its address, or one that is started on this machine.

Ray gives out the CPUs and GPUs of its nodes, and starts a task again whose worker was killed or whose node was lost.
The folder of the matrix must be the same on all nodes; caches of models and data are those of each node.
"""

import os
import socket
import uuid
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.cluster.engine import failure, is_served, job_environment
from tiltmeter.cluster.model_job import Outcome, run_job
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.errors import UsageError

# How often a task is started again whose worker or node was lost: not for ever, for a job may exhaust the memory.
RETRIES = 20
# Set by the user for this machine; other nodes have their own.
_FOR_ALL_NODES = ("TILTMETER_MIRROR", "TILTMETER_OFFLINE", "HF_HUB_OFFLINE", "HF_ENDPOINT")


class RayEngine:
    """Each job is one task, on whichever node has the CPUs and GPUs that it needs."""

    goes_on = False

    def __init__(self, address: str | None, prefetched: Collection[str] = (), *, retries: int = RETRIES) -> None:
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

    def _connect(self, address: str | None) -> None:
        # Ray would tell of its own metrics and of every worker that is killed.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address is None:
            options |= {"address": "local", "include_dashboard": False}
        else:
            options |= {"address": address}
        try:
            self._ray.init(**options)
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            first, *_ = [*str(error).strip().splitlines(), ""]
            raise UsageError(
                f"The Ray cluster {address or 'on this machine'} cannot be used ({first[:200]}); check --address and "
                "`ray status`."
            ) from error

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def start(self, entries: Sequence[ModelCells]) -> None:
        """Submit a task for each job."""
        if not entries:
            return
        self._probe = entries[0].folder.parent.resolve() / f".probe-{uuid.uuid4().hex}"
        self._probe.touch()
        variables = {name: os.environ[name] for name in _FOR_ALL_NODES if name in os.environ}
        for entry in entries:
            wanted = self._wanted(entry)
            self._refuse_too_large(entry, wanted)
            # A worker process ends with its task, which frees the memory of GPUs.
            task = self._ray.remote(max_calls=1)(_job).options(
                **wanted,
                name=f"tiltmeter {entry.folder.name}",
                max_retries=self._retries,
                runtime_env={"env_vars": {**variables, **job_environment(entry, self._prefetched)}},
            )
            reference = task.remote(str(entry.folder.resolve()), str(self._probe))
            self._tasks[reference] = entry

    def _wanted(self, entry: ModelCells) -> dict[str, Any]:
        gpus = entry.model.gpus
        if gpus is None:
            gpus = int(self._gpus and not is_served(entry))
        wanted: dict[str, Any] = {"num_cpus": entry.model.cpus, "num_gpus": gpus}
        if entry.model.memory_gb is not None:
            wanted["memory"] = int(entry.model.memory_gb * 2**30)
        return wanted

    def _refuse_too_large(self, entry: ModelCells, wanted: dict[str, Any]) -> None:
        """A UsageError if no node is large enough; the task would wait for ever."""
        names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
        nodes = self._nodes()
        if not any(all(node["Resources"].get(names[key], 0) >= need for key, need in wanted.items()) for node in nodes):
            needs = ", ".join(f"{need} {names[key]}" for key, need in wanted.items() if need)
            raise UsageError(f"{entry.model.name} needs {needs}, and no node of the Ray cluster has that much.")

    def is_started(self, _entry: ModelCells) -> bool:
        """False: tasks end with the call."""
        return False

    def ended(self) -> Iterator[tuple[ModelCells, Outcome]]:
        """The tasks that have ended since the last call."""
        if not self._tasks:
            return
        over, _ = self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        for reference in over:
            yield self._tasks.pop(reference), self._outcome(reference)

    def _outcome(self, reference: Any) -> Outcome:
        try:
            outcome: Outcome = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            first, *_ = [*str(error).strip().splitlines(), ""]
            return failure(f"Ray ended its task: {type(error).__name__} ({first[:200]}).")
        return outcome

    def stop(self) -> None:
        """Cancel what runs, and leave the cluster."""
        for reference in self._tasks:
            self._ray.cancel(reference, force=True)
        self._tasks.clear()
        if self._probe is not None:
            self._probe.unlink(missing_ok=True)
        if self._is_ours:
            self._ray.shutdown()


def _job(folder: str, probe: str) -> Outcome:
    """Do a job on a node of the cluster."""
    import ray

    if not Path(probe).exists():
        where = socket.gethostname()
        return failure(
            f"The node {where} does not see {Path(probe).parent}; put --out on a file system that all nodes share."
        )
    return run_job(Path(folder), node=ray.get_runtime_context().get_node_id())
