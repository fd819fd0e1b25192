"""Output of the jobs of a matrix: the forecast of the work, the progress, and the result."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from tiltmeter.cli.output import print_note
from tiltmeter.printable_text import create_plain_console, escape_unsafe

if TYPE_CHECKING:
    from tiltmeter.cluster.dry_run import ModelForecast
    from tiltmeter.cluster.job_engine import JobEngine
    from tiltmeter.cluster.matrix import MatrixResult
    from tiltmeter.cluster.plan_cells import RunMatrix


OnSummary = Callable[[str], None]


def run_jobs(
    matrix: "RunMatrix", engine: "JobEngine", *, wait: bool = True, say: OnSummary = typer.echo
) -> "MatrixResult":
    """Run the jobs of a matrix, show their progress, and print the result; `say` prints the last line."""
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
    _print_result(matrix, result, say, waited=wait)
    return result


def _print_result(matrix: "RunMatrix", result: "MatrixResult", say: OnSummary, *, waited: bool) -> None:
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
    say(f"{summary}.")


def print_forecast(matrix: "RunMatrix") -> None:
    """Print a line for each model with the remaining work, and a summary; exit if a model cannot be opened."""
    from tiltmeter.cluster.dry_run import forecast_matrix
    from tiltmeter.reports.formatting import format_count
    from tiltmeter.runs.time_estimates import format_duration

    console = create_plain_console(soft_wrap=True, highlight=False)
    found = forecast_matrix(matrix, lambda one: console.print(_format_forecast(one)))
    open_cells = sum(one.open_cells for one in found)
    questions = sum(one.questions or 0 for one in found)
    answered = sum(one.answered for one in found)
    uncounted = sum(one.questions is None and one.open_cells > 0 for one in found)
    summary = f"{matrix.cell_count - open_cells} of {matrix.cell_count} cells are complete"
    summary += f"; {questions:,} questions remain" if questions or not uncounted else ""
    summary += f", {answered:,} of them already answered" if answered else ""
    summary += f"; the questions of {format_count(uncounted, 'model')} are not counted yet" if uncounted else ""
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
    from tiltmeter.runs.time_estimates import format_duration

    done = len(one.entry.cells) - one.open_cells
    parts = [f"{done} of {len(one.entry.cells)} cells complete"]
    if one.replaced:
        parts.append(f"{one.replaced} cells were saved with other settings or files and will be replaced")
    if one.items:
        parts.append(f"{one.items:,} items")
    if one.bytes:
        parts.append(f"{one.bytes / 1_000_000:,.1f} MB of weights")
    if one.questions is not None:
        parts.append(f"{one.questions:,} questions" + (f", {one.answered:,} already answered" if one.answered else ""))
    if one.estimate.low is not None and one.estimate.high is not None:
        parts.append(
            f"about {format_duration(one.estimate.low)} to {format_duration(one.estimate.high)} ({one.estimate.basis})"
        )
    if one.why:
        parts.append(one.why.rstrip("."))
    return escape_unsafe(f"{one.entry.label}: {'; '.join(parts)}.")


def prefetch_matrix(matrix: "RunMatrix") -> None:
    """Download the models and data of a matrix; exit if a download failed."""
    from tiltmeter.cluster.prefetch import prefetch_files

    failed = prefetch_files(matrix, print_note)
    for name, reason in failed.items():
        print_note(f"Failed: {name}: {escape_unsafe(reason)}")
    print("Models and data are downloaded; jobs need no network." if not failed else f"{len(failed)} downloads failed.")
    if failed:
        raise typer.Exit(1)
