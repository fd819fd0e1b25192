"""`tiltmeter check`: check a run against rules."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import parse_choice
from tiltmeter.printable_text import create_plain_console, format_json


def check(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    maximum: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            metavar="RULE",
            help='An upper limit of a measure, such as "stereoset.SS distance 5"; repeat the option for more.',
        ),
    ] = None,
    minimum: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="RULE",
            help='A lower limit of a measure, such as "stereoset.LMS 70"; repeat the option for more.',
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="The run with which RUN is compared item by item; needs --no-worse-than."),
    ] = None,
    no_worse_than: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="How much farther from its ideal value a measure may be in RUN than in the baseline. A number, such "
            "as 2, is a limit for all percentages of preferences, such as SS; a rule, such as "
            '"stereoset.LMS 3", is a limit for one measure.',
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file with more rules; if no rules are given, `tiltmeter.toml` in the current folder is used.",
        ),
    ] = None,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--lenient",
            help="Strict (default): a rule passes only if the data show that it is met. "
            "Lenient: it fails only if the data show that it is violated.",
        ),
    ] = None,
    across: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Allow a baseline that differs in `kinds` (of models), `protocols`, `editions` (of data sets) or "
            "`tokenizers`.",
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Print the number of items that each rule needs for a clear result; check nothing."
        ),
    ] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a summary in Markdown to this file. If the environment variable GITHUB_STEP_SUMMARY contains "
            "the name of a file, the summary is also appended to that file.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the outcome of each rule as a test case to this JUnit file (XML)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Check a run against rules: exit code 1 if a rule fails, 2 if a rule is invalid or matches no value of the run.

    A rule is `BENCHMARK[/PART][:LANGUAGE].MEASURE [distance] NUMBER`. With `distance`, the rule limits the distance
    from the ideal value of the measure. A rule is applied to the 95% interval of the measure, not to its value: a
    maximum limits the upper end of the interval, or with `--lenient` the lower end.

    **Examples**

    `tiltmeter check runs/new --max "stereoset.SS distance 8" --min "stereoset.LMS 70"`

    `tiltmeter check runs/new --max "stereoset:de.SS[bias_type=gender] distance 15"`

    `tiltmeter check runs/new --baseline runs/released --no-worse-than 2`

    `tiltmeter check runs/new --max "stereoset.SS distance 3" --plan`

    `tiltmeter check runs/new --config tiltmeter.toml --markdown summary.md --junit tiltmeter.xml`
    """

    from tiltmeter import api
    from tiltmeter.comparing.comparability import ACROSS
    from tiltmeter.comparing.gate_config import NAME, read_gate_config
    from tiltmeter.files import append_text, reject_unwritable_file, write_text
    from tiltmeter.reports.check_results import print_rule_plan, print_verdicts, render_markdown, to_dict
    from tiltmeter.reports.junit import render_junit

    for file in filter(None, (markdown, junit)):
        reject_unwritable_file(file)
    has_rules = bool(maximum or minimum or no_worse_than)
    if config is None and not has_rules and Path(NAME).is_file():
        config = Path(NAME)
    lenient, rules = False, []
    if config is not None:
        content = read_gate_config(config)
        rules = content.rules
        baseline = baseline or content.baseline
        lenient = bool(content.lenient)
    lenient = not strict if strict is not None else lenient
    verdicts = api.check(
        run,
        max=maximum or (),
        min=minimum or (),
        no_worse_than=no_worse_than or (),
        rules=rules,
        baseline=baseline,
        lenient=lenient,
        across=[name for text in across or [] if (name := parse_choice(text, ACROSS, "--across"))],
    )
    if plan:
        print_rule_plan(verdicts, create_plain_console())
        return
    if as_json:
        typer.echo(format_json([to_dict(verdict) for verdict in verdicts]))
    else:
        print_verdicts(verdicts, create_plain_console(), lenient=lenient)
    summary = render_markdown(verdicts, lenient=lenient)
    if markdown is not None:
        write_text(markdown, summary)
    if junit is not None:
        write_text(junit, render_junit(verdicts, lenient=lenient))
    if log := os.environ.get("GITHUB_STEP_SUMMARY"):
        append_text(Path(log), f"{summary}\n")
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(1)
