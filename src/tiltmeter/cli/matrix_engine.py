"""The options of engines, which run the jobs of a matrix: local processes, Ray or Slurm."""

import re
from typing import TYPE_CHECKING, Annotated, TypedDict, Unpack

import typer

from tiltmeter.cli.output import parse_choice
from tiltmeter.errors import UsageError

if TYPE_CHECKING:
    from tiltmeter.cluster.job_engine import JobEngine
    from tiltmeter.cluster.plan_cells import RunMatrix

_ENGINES = ("local", "ray", "slurm")
# One day in minutes.
_DAY = 24 * 60

EngineName = Annotated[
    str, typer.Option(help="Where jobs run: `local` (processes on this machine), `ray` or `slurm`.", metavar="ENGINE")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1, help="The number of parallel jobs; the default is 1 on this machine and unlimited on a cluster."
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="For `ray`: the address of the cluster, or `auto`; the default is a new cluster on this machine."
    ),
]
Partition = Annotated[str | None, typer.Option(help="For `slurm`: the partition of the cluster.")]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="For `slurm`: the time limit of a job, such as `90` (minutes), `4:00:00` or `1-00:00:00`."
    ),
]
SlurmOptions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="For `slurm`: any option of sbatch, such as `account=nlp`; repeat the option for more.",
    ),
]


class EngineOptions(TypedDict):
    """The values of the engine options; `time` is the time limit of a job."""

    jobs: int | None
    address: str | None
    partition: str | None
    time: str | None
    slurm: list[str] | None


def parse_minutes(text: str | None) -> int:
    """Convert a time limit in the notation of Slurm to minutes; None means one day.

    >>> parse_minutes("90"), parse_minutes("4:00:00"), parse_minutes("1-12:00:00"), parse_minutes(None)
    (90, 240, 2160, 1440)
    """
    if text is None:
        return _DAY
    match = re.fullmatch(r"(?:(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d):\d\d)|(?P<only>\d+)", text)
    if match is None:
        raise UsageError(f"--time {text} is not a time limit; write MINUTES, HOURS:MM:SS or DAYS-HOURS:MM:SS.")
    if match["only"] is not None:
        minutes = int(match["only"])
    else:
        minutes = int(match["days"] or 0) * _DAY + int(match["hours"]) * 60 + int(match["minutes"])
    if not minutes:
        raise UsageError(f"--time {text} is too short; give at least one minute.")
    return minutes


def check_engine_options(context: typer.Context, engine: str, time: str | None) -> str:
    """Return the name of the engine; raise an error for unknown engines and for options of other engines."""
    chosen = parse_choice(engine, _ENGINES, "--engine") or "local"
    users = {"address": "ray", "partition": "slurm", "time": "slurm", "slurm": "slurm", "no_wait": "slurm"}
    for name, user in users.items():
        if context.params.get(name) and user != chosen:
            raise UsageError(
                f"--{name.replace('_', '-')} is only for --engine {user}; leave out this option, or choose that engine."
            )
    if chosen == "ray" and context.params.get("jobs"):
        raise UsageError(
            "--jobs is not for --engine ray, which runs as many jobs as CPUs and GPUs allow; leave out --jobs."
        )
    parse_minutes(time)
    return chosen


def create_engine(matrix: "RunMatrix", name: str, **options: Unpack[EngineOptions]) -> "JobEngine":
    """Create the engine with this name for the jobs of a matrix."""
    from tiltmeter.cluster.prefetch import read_prefetched_files

    ready, jobs = read_prefetched_files(matrix.out), options["jobs"]
    if name == "ray":
        from tiltmeter.cluster.engine_ray import RayEngine

        return RayEngine(options["address"], ready)
    if name == "slurm":
        from tiltmeter.cluster.engine_slurm import SlurmEngine

        minutes, partition = parse_minutes(options["time"]), options["partition"]
        more = _parse_slurm_options(options["slurm"] or [])
        return SlurmEngine(ready, partition=partition, minutes=minutes, jobs=jobs, more=more)
    from tiltmeter.cluster.engine_local import LocalEngine

    return LocalEngine(jobs or 1, ready)


def _parse_slurm_options(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    if wrong := [text for text, (key, sign, _) in zip(given, pairs, strict=True) if not key or not sign]:
        raise UsageError(f"--slurm {wrong[0]} is not KEY=VALUE, as in --slurm account=nlp.")
    return {key.strip().lstrip("-"): value for key, _, value in pairs}
