"""`tiltmeter matrix`: many models on many benchmarks, on one machine or a cluster."""

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
_DAY = 24 * 60


def matrix(
    context: typer.Context,
    plan: Annotated[Path, typer.Argument(metavar="PLAN.toml", help="The models, benchmarks, languages and protocols.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the runs: one for each model and cell.")],
    engine: Annotated[
        str, typer.Option(help="Where jobs run: `local` (processes), `ray` or `slurm`.", metavar="ENGINE")
    ] = "local",
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Jobs at a time; 1 by default on this machine, no limit on a cluster.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print cells, what is answered already and an estimate; run nothing.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Print how far the jobs are, from any machine that sees the folder.")
    ] = False,
    prefetch: Annotated[
        bool,
        typer.Option("--prefetch", help="Download models and data, and run nothing; later jobs need no network."),
    ] = False,
    address: Annotated[
        str | None, typer.Option(help="Of `ray`: the cluster's address, or `auto`; otherwise one is started here.")
    ] = None,
    partition: Annotated[str | None, typer.Option(help="Of `slurm`: the partition.")] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Of `slurm`: the limit, as `90` (minutes), `4:00:00` or `1-00:00:00`."),
    ] = None,
    slurm: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Of `slurm`: any option of sbatch: `account=nlp`.")
    ] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Of `slurm`: submit the jobs and leave; call again, or see --status.")
    ] = False,
) -> None:
    """Run every model of a plan on every benchmark, language and protocol: exit code 1 if not all cells are complete.

    One job per model loads its weights once. Each cell becomes an ordinary run with the numbers of `tiltmeter run`, in
    OUT/MODEL/BENCHMARK.LANGUAGE.PROTOCOL. A cell that is finished is not run again; one that failed is retried by the
    next call, and a job that was stopped or killed goes on where it was. Plans and engines:
    docs/how-to/matrices.md.

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
        raise UsageError("--dry-run, --status and --prefetch do different things; choose one of them.")
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
    """Minutes, from what Slurm takes as a time limit; a day by default.

    >>> parse_minutes("90"), parse_minutes("4:00:00"), parse_minutes("1-12:00:00"), parse_minutes(None)
    (90, 240, 2160, 1440)
    """
    if text is None:
        return _DAY
    match = re.fullmatch(r"(?:(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d):\d\d)|(?P<only>\d+)", text)
    if match is None:
        raise UsageError(f"--time {text} is no limit of time; write minutes, HOURS:MM:SS or DAYS-HOURS:MM:SS.")
    if match["only"] is not None:
        found = int(match["only"])
    else:
        found = int(match["days"] or 0) * _DAY + int(match["hours"]) * 60 + int(match["minutes"])
    if not found:
        raise UsageError(f"--time {text} leaves no time; give at least a minute.")
    return found


def _reject_unused_options(context: typer.Context, engine: str) -> None:
    """A UsageError for an option of another engine."""
    users = {"address": "ray", "partition": "slurm", "time": "slurm", "slurm": "slurm", "no_wait": "slurm"}
    for name, user in users.items():
        if context.params.get(name) and user != engine:
            raise UsageError(f"--{name.replace('_', '-')} is for --engine {user}; leave it out, or choose that engine.")
    if engine == "ray" and context.params.get("jobs"):
        raise UsageError("Ray runs as many jobs at a time as its nodes have CPUs and GPUs for; leave out --jobs.")


def _create_engine(
    matrix: "RunMatrix",
    name: str,
    jobs: int | None,
    address: str | None,
    partition: str | None,
    minutes: int,
    more: list[str],
) -> "JobEngine":
    from tiltmeter.cluster.prefetch import read_prefetched

    ready = read_prefetched(matrix.out)
    if name == "ray":
        from tiltmeter.cluster.engine_ray import RayEngine

        return RayEngine(address, ready)
    if name == "slurm":
        from tiltmeter.cluster.engine_slurm import SlurmEngine

        pairs = [text.partition("=") for text in more]
        if wrong := [text for text, (key, sign, _) in zip(more, pairs, strict=True) if not key or not sign]:
            raise UsageError(f"--slurm {wrong[0]} is not KEY=VALUE, as in account=nlp.")
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
        if engine.goes_on:
            print_note("The jobs go on in Slurm: --status shows them, and the same command waits for them again.")
        raise
    _print_result(matrix, result, waited=wait)
    if result.failed or (wait and result.complete < result.cells):
        raise typer.Exit(1)


def _print_result(matrix: "RunMatrix", result: "MatrixResult", *, waited: bool) -> None:
    for note in result.notes:
        print_note(note)
    for name in result.elsewhere:
        print_note(f"{name}: its job runs already, from another call; see --status.")
    for (model, cell), reason in result.failed.items():
        print_note(f"Failed: {model}, {cell}: {escape_unsafe(reason)}")
    told = f"{result.complete} of {result.cells} cells are complete in {matrix.out}"
    if not waited:
        told += "; the jobs are submitted: --status shows them, and the same command waits for them"
    elif result.failed:
        told += f", {len(result.failed)} failed; the same command retries them"
    print(f"{told}.")


def _print_status(matrix: "RunMatrix") -> None:
    from tiltmeter.cluster.job_table import build_job_rows, build_job_table, summarize_jobs

    if not matrix.out.is_dir():
        print_note(f"{matrix.out} is not there: no job of this plan was started yet, or --out is another folder.")
    rows = build_job_rows(matrix.models)
    console = create_plain_console()
    console.print(build_job_table(rows))
    for row in rows:
        for cell, reason in row.failed.items():
            console.print(f"Failed: {row.model}, {cell}: {escape_unsafe(reason)}", markup=False, soft_wrap=True)
        if row.state == "lost":
            console.print(
                f"Lost: {row.model} wrote nothing for long; calling the matrix again goes on from what it stored.",
                markup=False,
                soft_wrap=True,
            )
    console.print(f"{summarize_jobs(rows).partition('. ')[0]}.", markup=False, highlight=False, soft_wrap=True)


def _print_forecast(matrix: "RunMatrix") -> None:
    from tiltmeter.cluster.dry_run import forecast
    from tiltmeter.cluster.time_estimates import format_duration

    console = create_plain_console(soft_wrap=True, highlight=False)
    first = matrix.models[0]
    console.print(f"{matrix.cells} cells: {len(matrix.models)} models, each on {len(first.cells)}:")
    for cell in first.cells:
        console.print(f"  {cell.on}, {cell.protocol}")
    found = forecast(matrix, lambda one: console.print(_format_forecast(one)))
    open_cells = sum(one.open_cells for one in found)
    questions = sum(one.questions or 0 for one in found)
    answered = sum(one.answered for one in found)
    uncounted = sum(one.questions is None and one.open_cells > 0 for one in found)
    told = f"{matrix.cells - open_cells} of {matrix.cells} cells are complete; {questions:,} questions are left"
    told += f", {answered:,} of them answered already" if answered else ""
    told += f", without {uncounted} models that could not be counted" if uncounted else ""
    console.print(f"{told}.")
    known = [(one.estimate.low, one.estimate.high) for one in found if one.estimate.low is not None]
    unknown = sum(one.estimate.low is None and one.open_cells > 0 for one in found)
    if known:
        low, high = sum(low or 0 for low, _ in known), sum(high or 0 for _, high in known)
        without = f", without {unknown} models of which nothing is known" if unknown else ""
        console.print(f"One after the other, about {format_duration(low)} to {format_duration(high)}{without}.")
    elif unknown:
        console.print("The time is not known: no model was measured by a matrix on this machine before.")
    if failing := sum(one.fails for one in found):
        console.print(f"{failing} models cannot be opened, so that their cells would fail.")
        raise typer.Exit(1)


def _format_forecast(one: "ModelForecast") -> str:
    from tiltmeter.cluster.time_estimates import format_duration

    done = len(one.entry.cells) - one.open_cells
    parts = [f"{done} of {len(one.entry.cells)} cells complete"]
    if one.replaced:
        parts.append(f"{one.replaced} there with other settings or of other files, to be replaced")
    if one.questions is not None:
        parts.append(f"{one.questions:,} questions" + (f", {one.answered:,} answered already" if one.answered else ""))
    if one.estimate.low is not None and one.estimate.high is not None:
        parts.append(
            f"about {format_duration(one.estimate.low)} to {format_duration(one.estimate.high)} ({one.estimate.basis})"
        )
    if one.why:
        parts.append(one.why.rstrip("."))
    return escape_unsafe(f"{one.entry.label}: {'; '.join(parts)}.")


def _prefetch(matrix: "RunMatrix") -> None:
    from tiltmeter.cluster.prefetch import prefetch

    failed = prefetch(matrix, print_note)
    for name, reason in failed.items():
        print_note(f"Failed: {name}: {escape_unsafe(reason)}")
    print("Models and data are here; jobs run without a network." if not failed else f"{len(failed)} could not be had.")
    if failed:
        raise typer.Exit(1)
