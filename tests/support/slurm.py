"""A real Slurm cluster with one node on this machine, with its own folder, ports, key and configuration."""

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from tests.support.patience import PATIENCE

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
_CONF = """
ClusterName=tiltmeter
SlurmctldHost={host}
SlurmctldPort={control}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0,requeue_delay=1
KillWait=2
MinJobAge=30
NodeName={host} CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str | None:
    """Return the reason why Slurm cannot be started here; None if it can."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [name for name in _PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        return f"Slurm is not installed ({', '.join(missing)} missing)"
    return None if hasattr(os, "geteuid") and os.geteuid() == 0 else "Slurm's daemons are started as root"


class Slurm:
    """The daemons of Slurm; `environment` has the variables for its commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("state", "spool", "munge"):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)
        ports = _free_ports(2)
        host = socket.gethostname().partition(".")[0]
        self.host = host
        conf = folder / "slurm.conf"
        conf.write_text(_CONF.format(host=host, control=ports[0], node=ports[1], folder=folder))
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.environment = {"SLURM_CONF": str(conf), "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
        self._daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start all daemons and wait until the node is idle."""
        munge = self.folder / "munge"
        files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        self._spawn("munged", "--foreground", "--force", *(f"--{name}={munge / file}" for name, file in files.items()))
        wait_until((munge / "socket").exists, "munged did not start")
        self.start_slurm()

    def start_slurm(self) -> None:
        """Start the daemons of Slurm."""
        self._spawn("slurmctld", "-D")
        self._spawn("slurmd", "-D", "-N", self.host)
        wait_until(self._is_idle, "the node did not become idle")

    def stop_slurm(self) -> None:
        """Stop the daemons of Slurm; jobs continue."""
        for daemon in self._daemons[:0:-1]:
            daemon.terminate()
            daemon.wait(PATIENCE)
        del self._daemons[1:]

    def stop(self) -> None:
        """Cancel all jobs and stop all daemons."""
        if len(self._daemons) > 2:
            subprocess.run(
                ["scancel", "-u", "root"], env=self._all(), capture_output=True, timeout=PATIENCE, check=False
            )
            wait_until(lambda: not self.list_queue(), "jobs did not end")
        for daemon in reversed(self._daemons):
            daemon.terminate()
            daemon.wait(PATIENCE)
        self._daemons.clear()

    def list_queue(self) -> dict[str, str]:
        """Return the states of the jobs in the queue."""
        output = self.run("squeue", "-h", "-r", "-o", "%i %T")
        return dict(line.split(maxsplit=1) for line in output.splitlines())

    def run(self, *words: str) -> str:
        """Return the output of a Slurm command; empty if it fails."""
        done = subprocess.run(words, env=self._all(), capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.stdout if done.returncode == 0 else ""

    def _is_idle(self) -> bool:
        return self.run("sinfo", "-h", "-o", "%t").strip() in ("idle", "mix", "alloc")

    def _spawn(self, *words: str) -> None:
        with (self.folder / f"{words[0]}.out").open("ab") as output:
            self._daemons.append(subprocess.Popen(words, env=self._all(), stdout=output, stderr=output))

    def _all(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


def wait_until(is_true: Callable[[], bool], message: str, seconds: float = PATIENCE) -> None:
    """Check a condition ten times per second until it is true; raise an AssertionError after the time limit."""
    never = threading.Event()
    for _ in range(int(10 * seconds)):
        if is_true():
            return
        never.wait(0.1)
    raise AssertionError(message)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
