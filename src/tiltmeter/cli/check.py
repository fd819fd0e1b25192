"""`tiltmeter check`: hold a run against rules."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import spell


def check(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    maximum: Annotated[
        list[str] | None, typer.Option("--max", metavar="RULE", help='A limit from above: "stereoset.SS distance 5".')
    ] = None,
    minimum: Annotated[
        list[str] | None, typer.Option("--min", metavar="RULE", help='A limit from below: "stereoset.LMS 70".')
    ] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="RUN", help="The run to compare with, item by item.")] = None,
    no_worse_than: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE", help='How much farther from the ideal than the baseline: 2, or "stereoset.LMS 3".'
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More rules; `tiltmeter.toml` here, if no rule is given.")
    ] = None,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--lenient", help="Pass only what is shown to hold (as is usual) / fail only what is broken."
        ),
    ] = None,
    across: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT", help="Compare with a baseline of other `kinds`, `protocols`, `editions` …"),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print how many items each rule needs, and judge nothing.")
    ] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a summary in Markdown; $GITHUB_STEP_SUMMARY gets it anyhow."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Fail if a run breaks a rule: exit code 1; exit code 2 if a rule cannot be read or matches nothing.

    A rule is `BENCHMARK[/PART][:LANGUAGE].MEASURE [distance] NUMBER`, where `distance` is how far from the ideal. It is
    judged on the end of the 95% interval, not on the value: a maximum on the upper end, with `--lenient` on the lower.

    **Examples**

    `tiltmeter check runs/new --max "stereoset.SS distance 8" --min "stereoset.LMS 70"`

    `tiltmeter check runs/new --max "stereoset:de.SS[bias_type=gender] distance 15"`

    `tiltmeter check runs/new --baseline runs/released --no-worse-than 2`

    `tiltmeter check runs/new --max "stereoset.SS distance 3" --plan`

    `tiltmeter check runs/new --config tiltmeter.toml --markdown summary.md`
    """
    from rich.console import Console

    from tiltmeter import api
    from tiltmeter.comparing.comparability import ACROSS
    from tiltmeter.comparing.config import NAME, read_config
    from tiltmeter.files import write_text
    from tiltmeter.reports.check_results import markdown as to_markdown
    from tiltmeter.reports.check_results import plan as print_plan
    from tiltmeter.reports.check_results import print_verdicts, to_dict

    given = bool(maximum or minimum or no_worse_than)
    if config is None and not given and Path(NAME).is_file():
        config = Path(NAME)
    lenient, rules = False, []
    if config is not None:
        there = read_config(config)
        rules = there.rules
        baseline = baseline or there.baseline
        lenient = bool(there.lenient)
    lenient = not strict if strict is not None else lenient
    verdicts = api.check(
        run,
        max=maximum or (),
        min=minimum or (),
        no_worse_than=no_worse_than or (),
        rules=rules,
        baseline=baseline,
        lenient=lenient,
        across=[name for text in across or [] if (name := spell(text, ACROSS, "--across"))],
    )
    if plan:
        print_plan(verdicts, Console())
        return
    if as_json:
        typer.echo(
            json.dumps([to_dict(verdict) for verdict in verdicts], indent=1, ensure_ascii=False, allow_nan=False)
        )
    else:
        print_verdicts(verdicts, Console(), lenient=lenient)
    summary = to_markdown(verdicts, lenient=lenient)
    if markdown is not None:
        write_text(markdown, summary)
    if log := os.environ.get("GITHUB_STEP_SUMMARY"):
        # Other steps write to this file as well, so it is added to.
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{summary}\n")
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(1)
