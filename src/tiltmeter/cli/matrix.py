"""`tiltmeter matrix`: measure many models on many benchmarks, on one machine or a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.matrix_engine import (
    Address,
    EngineName,
    Jobs,
    Partition,
    SlurmOptions,
    TimeLimit,
    check_engine_options,
    create_engine,
)
from tiltmeter.cli.matrix_jobs import prefetch_matrix, print_forecast, run_jobs
from tiltmeter.cli.output import print_note
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console, escape_unsafe

if TYPE_CHECKING:
    from tiltmeter.cluster.plan_cells import RunMatrix


def matrix(
    context: typer.Context,
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN.toml", help="The plan: models, benchmarks, languages and protocols.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Save the runs to this folder, one run for each cell of the matrix.")
    ],
    engine: EngineName = "local",
    jobs: Jobs = None,
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
    address: Address = None,
    partition: Partition = None,
    time: TimeLimit = None,
    slurm: SlurmOptions = None,
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
    chosen = check_engine_options(context, engine, time)
    planned = make_matrix(read_plan(plan), out)
    if status:
        _print_status(planned)
        return
    for benchmark, languages in planned.lacking.items():
        print_note(f"{benchmark} has no items in {', '.join(languages)}.")
    if dry_run:
        _print_plan(planned)
    elif prefetch:
        prefetch_matrix(planned)
    else:
        made = create_engine(planned, chosen, jobs=jobs, address=address, partition=partition, time=time, slurm=slurm)
        result = run_jobs(planned, made, wait=not no_wait)
        if result.failed or (not no_wait and result.complete < result.cells):
            raise typer.Exit(1)


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


def _print_plan(matrix: "RunMatrix") -> None:
    console = create_plain_console(soft_wrap=True, highlight=False)
    first = matrix.models[0]
    console.print(
        f"{matrix.cell_count} cells: {len(matrix.models)} models, each measured on {len(first.cells)} combinations of "
        "benchmark, language and protocol:"
    )
    for cell in first.cells:
        console.print(f"  {cell.on}, {cell.protocol}")
    print_forecast(matrix)
