"""Run the models of a paper for `tiltmeter reproduce --from-models`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tiltmeter.cli.matrix_engine import EngineOptions, create_engine
from tiltmeter.cli.matrix_jobs import prefetch_matrix, print_forecast, run_jobs
from tiltmeter.cli.output import print_note
from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:
    from tiltmeter.papers.model_runs.run_choices import RunChoices
    from tiltmeter.papers.model_runs.run_plan import RunPlan
    from tiltmeter.papers.printed_numbers import PrintedNumber
    from tiltmeter.papers.sources.paper_run import PaperRun, SavedRun


def run_models(
    numbers: "Sequence[PrintedNumber]",
    choices: "RunChoices",
    out: Path | None,
    engine: str,
    options: EngineOptions,
    *,
    dry_run: bool,
    prefetch: bool,
) -> "tuple[dict[PaperRun, SavedRun], Path] | None":
    """Run the models that the numbers need; return the runs, and the folder of the samples that people rate.

    With `dry_run`, print the plan and return None.

    With `prefetch`, download the models and data, and return None.
    `out` is the folder of the runs; None means a folder in the cache.
    """
    from tiltmeter.datasets.cache_folder import get_cache_folder
    from tiltmeter.papers.model_runs.run_plan import plan_runs
    from tiltmeter.text_files import expand_home

    plan = plan_runs(numbers, choices, expand_home(out) if out else get_cache_folder() / "reproduction")
    if dry_run:
        _print_plan(plan, numbers)
        return None
    if prefetch:
        prefetch_matrix(plan.matrix)
        return None
    samples = plan.matrix.out / "samples"
    if not plan.matrix.models:
        return plan.collect_runs(), samples
    result = run_jobs(plan.matrix, create_engine(plan.matrix, engine, **options), say=print_note)
    return plan.collect_runs(result), samples


def _print_plan(plan: "RunPlan", numbers: "Sequence[PrintedNumber]") -> None:
    """Print the models with their runs and work, the missing runs, and the numbers that no run can give."""
    from tiltmeter.papers.sources.source_lookup import find_source
    from tiltmeter.reports.formatting import format_count

    console = create_plain_console(soft_wrap=True, highlight=False)
    for entry in plan.matrix.models:
        tokenizer = entry.model.options.get("tokenizer")
        console.print(f"{entry.label}{f' with the tokenizer {tokenizer}' if tokenizer else ''}:")
        for cell in entry.cells:
            protocol = f"{cell.protocol} with {cell.perturb}" if cell.perturb else cell.protocol
            console.print(f"  {cell.on}, {protocol}")
    sources = [find_source(number, from_models=True) for number in numbers]
    lacking = Counter(source.lacking for source in sources if source.recipe is None)
    manual_steps = Counter(source.recipe.manual_step for source in sources if source.recipe)
    for reason, count in Counter(plan.missing.values()).items():
        console.print(f"{format_count(count, 'run')} not possible: {reason}")
    for reason, count in lacking.items():
        console.print(f"{format_count(count, 'number')} not available from models: {reason}")
    for step, count in manual_steps.items():
        if step:
            console.print(f"{format_count(count, 'number')} only after a step that people do: {step}")
    if plan.matrix.models:
        print_forecast(plan.matrix)
