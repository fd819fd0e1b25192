"""`tiltmeter matrix`: measure many models on many benchmarks, on one machine or a cluster."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.output import parse_choice, print_note
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console, escape_unsafe

if TYPE_CHECKING:
    from tiltmeter.cluster.dry_run import ModelForecast
    from tiltmeter.cluster.job_engine import JobEngine
    from tiltmeter.cluster.matrix import MatrixResult
    from tiltmeter.cluster.plan_cells import RunMatrix

_ENGINES = ("local", "ray", "slurm")
# One day in minutes.
_DAY = 24 * 60


def matrix(
    context: typer.Context,
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN.toml", help="The plan: models, benchmarks, languages and protocols.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Save the runs to this folder, one run for each cell of the matrix.")
    ],
    engine: Annotated[
        str,
        typer.Option(help="Where jobs run: `local` (processes on this machine), `ray` or `slurm`.", metavar="ENGINE"),
    ] = "local",
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="The number of parallel jobs; the default is 1 on this machine and unlimited on a cluster."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the planned cells, the number of answers already stored and a time estimate; run nothing.",
        ),
    ] = False,
    status: Annotated[
        bool,
        typer.Option(
            "--status", help="Print the progress of the jobs; works on any machine that can read the folder --out."
        ),
    ] = False,
    prefetch: Annotated[
        bool,
        typer.Option("--prefetch", help="Download models and data, so that jobs need no network; run nothing."),
    ] = False,
    address: Annotated[
        str | None,
        typer.Option(
            help="For `ray`: the address of the cluster, or `auto`; the default is a new cluster on this machine."
        ),
    ] = None,
    partition: Annotated[str | None, typer.Option(help="For `slurm`: the partition of the cluster.")] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="For `slurm`: the time limit of a job, such as `90` (minutes), `4:00:00` or `1-00:00:00`.",
        ),
    ] = None,
    slurm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="For `slurm`: any option of sbatch, such as `account=nlp`; repeat the option for more.",
        ),
    ] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="For `slurm`: submit the jobs and exit; --status prints their progress.")
    ] = False,
) -> None:
    """Run every model of a plan on every benchmark, language and protocol.

    A cell is one such combination. Each cell is saved as an ordinary run in OUT/MODEL/BENCHMARK.LANGUAGE.PROTOCOL, with
    the same values as `tiltmeter run`. Each model is loaded once, by its own job. If you repeat the command, it skips
    finished cells, retries failed cells and continues interrupted jobs. The exit code is 1 if a cell is incomplete. See
    docs/how-to/matrices.md for plans and engines.

    **Examples**

    `tiltmeter matrix plan.toml --out runs/matrix --dry-run`

    `tiltmeter matrix plan.toml --out runs/matrix --jobs 2`

    `tiltmeter matrix plan.toml --out runs/matrix --engine ray --address auto`

    `tiltmeter matrix plan.toml --out runs/matrix --prefetch`

    `tiltmeter matrix plan.toml --out runs/matrix --engine slurm --partition gpu --time 4:00:00 --slurm account=nlp`

    `tiltmeter matrix runs/matrix/plan.toml --out runs/matrix --status`
    """
    from tiltmeter.cluster.plan_cells import make_matrix
    from tiltmeter.cluster.plan_file import read_plan

    if sum((dry_run, status, prefetch)) > 1:
        raise UsageError("--dry-run, --status and --prefetch cannot be combined; choose one of them.")
    chosen = parse_choice(engine, _ENGINES, "--engine") or "local"
    _reject_unused_options(context, chosen)
    minutes = parse_minutes(time)
    planned = make_matrix(read_plan(plan), out)
    if status:
        _print_status(planned)
        return
    for benchmark, languages in planned.lacking.items():
        print_note(f"{benchmark} has no items in {', '.join(languages)}.")
    if dry_run:
        _print_forecast(planned)
    elif prefetch:
        _prefetch(planned)
    else:
        made = _create_engine(planned, chosen, jobs, address, partition, minutes, slurm or [])
        _run_jobs(planned, made, wait=not no_wait)


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


def _reject_unused_options(context: typer.Context, engine: str) -> None:
    users = {"address": "ray", "partition": "slurm", "time": "slurm", "slurm": "slurm", "no_wait": "slurm"}
    for name, user in users.items():
        if context.params.get(name) and user != engine:
            raise UsageError(
                f"--{name.replace('_', '-')} is only for --engine {user}; leave out this option, or choose that engine."
            )
    if engine == "ray" and context.params.get("jobs"):
        raise UsageError(
            "--jobs is not for --engine ray, which runs as many jobs as CPUs and GPUs allow; leave out --jobs."
        )


def _create_engine(
    matrix: "RunMatrix",
    name: str,
    jobs: int | None,
    address: str | None,
    partition: str | None,
    minutes: int,
    more: list[str],
) -> "JobEngine":
    from tiltmeter.cluster.prefetch import read_prefetched_files

    ready = read_prefetched_files(matrix.out)
    if name == "ray":
        from tiltmeter.cluster.engine_ray import RayEngine

        return RayEngine(address, ready)
    if name == "slurm":
        from tiltmeter.cluster.engine_slurm import SlurmEngine

        pairs = [text.partition("=") for text in more]
        if wrong := [text for text, (key, sign, _) in zip(more, pairs, strict=True) if not key or not sign]:
            raise UsageError(f"--slurm {wrong[0]} is not KEY=VALUE, as in --slurm account=nlp.")
        options = {key.strip().lstrip("-"): value for key, _, value in pairs}
        return SlurmEngine(ready, partition=partition, minutes=minutes, jobs=jobs, more=options)
    from tiltmeter.cluster.engine_local import LocalEngine

    return LocalEngine(jobs or 1, ready)


def _run_jobs(matrix: "RunMatrix", engine: "JobEngine", *, wait: bool) -> None:
    from tiltmeter.cluster.job_table import show_jobs
    from tiltmeter.cluster.matrix import run_matrix

    try:
        with show_jobs() as show:
            result = run_matrix(matrix, engine, show=show, wait=wait)
    except KeyboardInterrupt:
        if engine.continues_after_exit:
            print_note(
                "The jobs continue in Slurm: --status prints their progress, and the same command waits for them."
            )
        raise
    _print_result(matrix, result, waited=wait)
    if result.failed or (wait and result.complete < result.cells):
        raise typer.Exit(1)


def _print_result(matrix: "RunMatrix", result: "MatrixResult", *, waited: bool) -> None:
    for note in result.notes:
        print_note(note)
    for name in result.elsewhere:
        print_note(f"{name}: another command already runs this job; see --status.")
    for (model, cell), reason in result.failed.items():
        print_note(f"Failed: {model}, {cell}: {escape_unsafe(reason)}")
    summary = f"{result.complete} of {result.cells} cells are complete in {matrix.out}"
    if not waited:
        summary += "; jobs submitted: --status prints their progress, and the same command waits for them"
    elif result.failed:
        summary += f", {len(result.failed)} failed; the same command retries them"
    print(f"{summary}.")


def _print_status(matrix: "RunMatrix") -> None:
    from tiltmeter.cluster.job_table import build_job_rows, build_job_table, summarize_jobs

    if not matrix.out.is_dir():
        print_note(f"{matrix.out} does not exist: no job of this plan has started yet, or --out is wrong.")
    rows = build_job_rows(matrix.models)
    console = create_plain_console()
    console.print(build_job_table(rows))
    for row in rows:
        for cell, reason in row.failed.items():
            console.print(f"Failed: {row.model}, {cell}: {escape_unsafe(reason)}", markup=False, soft_wrap=True)
        if row.state == "lost":
            console.print(
                f"Lost: {row.model} has not reported for a long time; run the matrix again to continue its job.",
                markup=False,
                soft_wrap=True,
            )
    console.print(f"{summarize_jobs(rows).partition('. ')[0]}.", markup=False, highlight=False, soft_wrap=True)


def _print_forecast(matrix: "RunMatrix") -> None:
    from tiltmeter.cluster.dry_run import forecast_matrix
    from tiltmeter.cluster.time_estimates import format_duration

    console = create_plain_console(soft_wrap=True, highlight=False)
    first = matrix.models[0]
    console.print(
        f"{matrix.cell_count} cells: {len(matrix.models)} models, each measured on {len(first.cells)} combinations of "
        "benchmark, language and protocol:"
    )
    for cell in first.cells:
        console.print(f"  {cell.on}, {cell.protocol}")
    found = forecast_matrix(matrix, lambda one: console.print(_format_forecast(one)))
    open_cells = sum(one.open_cells for one in found)
    questions = sum(one.questions or 0 for one in found)
    answered = sum(one.answered for one in found)
    uncounted = sum(one.questions is None and one.open_cells > 0 for one in found)
    summary = (
        f"{matrix.cell_count - open_cells} of {matrix.cell_count} cells are complete; {questions:,} questions remain"
    )
    summary += f", {answered:,} of them already answered" if answered else ""
    summary += f"; {uncounted} models could not be counted" if uncounted else ""
    console.print(f"{summary}.")
    known = [(one.estimate.low, one.estimate.high) for one in found if one.estimate.low is not None]
    unknown = sum(one.estimate.low is None and one.open_cells > 0 for one in found)
    if known:
        low, high = sum(low or 0 for low, _ in known), sum(high or 0 for _, high in known)
        without = f", without {unknown} models of unknown speed" if unknown else ""
        console.print(
            f"Estimated time of all jobs in sequence: {format_duration(low)} to {format_duration(high)}{without}."
        )
    elif unknown:
        console.print("There is no time estimate: no matrix has been run on this machine before.")
    if failing := sum(one.fails for one in found):
        console.print(f"{failing} models cannot be opened, so their cells would fail.")
        raise typer.Exit(1)


def _format_forecast(one: "ModelForecast") -> str:
    from tiltmeter.cluster.time_estimates import format_duration

    done = len(one.entry.cells) - one.open_cells
    parts = [f"{done} of {len(one.entry.cells)} cells complete"]
    if one.replaced:
        parts.append(f"{one.replaced} cells were saved with other settings or files and will be replaced")
    if one.questions is not None:
        parts.append(f"{one.questions:,} questions" + (f", {one.answered:,} already answered" if one.answered else ""))
    if one.estimate.low is not None and one.estimate.high is not None:
        parts.append(
            f"about {format_duration(one.estimate.low)} to {format_duration(one.estimate.high)} ({one.estimate.basis})"
        )
    if one.why:
        parts.append(one.why.rstrip("."))
    return escape_unsafe(f"{one.entry.label}: {'; '.join(parts)}.")


def _prefetch(matrix: "RunMatrix") -> None:
    from tiltmeter.cluster.prefetch import prefetch_files

    failed = prefetch_files(matrix, print_note)
    for name, reason in failed.items():
        print_note(f"Failed: {name}: {escape_unsafe(reason)}")
    print("Models and data are downloaded; jobs need no network." if not failed else f"{len(failed)} downloads failed.")
    if failed:
        raise typer.Exit(1)
