"""`tiltmeter compare`: compare runs item by item."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.compare_kinds import DEFAULT_ITEMS, compare_and_show, find_kind, reject_other_options
from tiltmeter.cli.output import parse_choice
from tiltmeter.errors import UsageError


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN", help="Folders of runs, or folders that contain runs, such as the folder of a matrix."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Compare by `model`, by `language`, or `any` (different models in different languages)."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Compare all models (or languages, or runs) with the one that has this name, but not with each other.",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Compare only this measure, such as `SS` or `CPS`; repeat the option for more."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="ATTRIBUTE",
            help="Compare groups of models or languages that differ in an attribute, such as `instruct` or "
            "`script=Latin,Cyrillic`.",
        ),
    ] = None,
    size: Annotated[
        bool, typer.Option("--size", help="Estimate how each measure changes with model size within a model family.")
    ] = False,
    languages: Annotated[
        bool,
        typer.Option(
            "--languages",
            help="Compare languages over all models, for these models and for similar models; --group selects an "
            "attribute of models or languages.",
        ),
    ] = False,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --languages: repeat the analysis for each value of a property; the only choice is `protocols`.",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="SOURCE",
            help="Compare each run with reference results: `published` (see `tiltmeter reference`), a reference file, "
            "or a folder with reference files or runs.",
        ),
    ] = None,
    before: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="The run of a model before a change, such as fine-tuning. With --before and --after, the result is a "
            "verdict on the change. Repeat the option for more runs.",
        ),
    ] = None,
    after: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="The run of the model after the change; repeat the option for more runs."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RESULT",
            help="With --before: a result that the change was meant to improve, such as "
            "`stereoset.SS[bias_type=gender]`; the default is the primary measure of each benchmark. Repeat the option "
            "for more.",
        ),
    ] = None,
    quality_margin: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS",
            help="With --before: the largest accepted loss of LMS or accuracy in percentage points; the default is 1.",
        ),
    ] = None,
    tuned_on: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --before: the texts that the model was tuned on (text, CSV, TSV, JSON or JSONL); a warning is "
            "printed if items are similar to them.",
        ),
    ] = None,
    attributes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file with attributes of models; the default is the `plan.toml` in a run's folder or up to "
            "three folders above it.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Use only items with this attribute, such as `bias_type=gender`; repeat the option for more.",
        ),
    ] = None,
    across: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Also compare models that differ in `kinds`, `protocols`, `editions` (versions of a data set) or "
            "`tokenizers`; a warning is shown.",
        ),
    ] = None,
    family: Annotated[
        str,
        typer.Option(
            help="Which tests are corrected together for multiple testing: the tests of each part and language "
            "(`portion`), or all tests (`run`)."
        ),
    ] = "portion",
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR",
            help="Do not generalise over this factor, such as `words`: results then concern only the words in the "
            "data. Repeat for more.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write an HTML page with the comparison and the items with the largest differences."
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            help="With --size, --languages, --with or --before: save the figures to this folder as SVG, PNG and PDF "
            "files.",
        ),
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --languages, --with or --before: write the results as LaTeX tables."),
    ] = None,
    items: Annotated[
        int, typer.Option(min=0, help="The number of items on the page of --html; 0 for all.")
    ] = DEFAULT_ITEMS,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="For more than four models or languages: print the comparison of every pair after the summary. With "
            "--languages or --with: print all tables. With --before: print all results and the items that flipped.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False,
) -> None:
    """Compare models on the same items, and languages on translations of the same items.

    Differences are computed item by item, with 95% intervals. Holm's correction for multiple tests includes all pairs
    that are compared by one measure in one part and language, or the whole comparison with `--family run`. Items that
    only one of two models or languages has are counted and left out. Models are compared only if their kind, protocol
    and data are the same, unless `--across` is given. For more than four models or languages, a summary of the
    significant differences is printed; `--all` also prints the comparison of every pair.

    **Examples**

    `tiltmeter compare runs/bert runs/roberta`

    `tiltmeter compare runs/bert runs/gpt2 --across kinds`

    `tiltmeter compare runs/bert runs/roberta runs/new runs/old runs/multilingual --all`

    `tiltmeter compare runs/multilingual --by language --baseline en`

    `tiltmeter compare runs/bert runs/roberta --where bias_type=gender --html compared.html`

    `tiltmeter compare runs/bert runs/roberta runs/multilingual --group multilingual --attributes models.toml`

    `tiltmeter compare runs/matrix`: all runs in a folder

    `tiltmeter compare runs/multilingual --by language --group "grammatical gender"`

    `tiltmeter compare runs/bert runs/roberta runs/multilingual --languages --html languages.html`

    `tiltmeter compare runs/bert runs/multilingual --size --attributes models.toml --figures figures`

    `tiltmeter compare runs/bert --with published`: a comparison with published results

    `tiltmeter compare --before runs/bert --after runs/tuned --target "stereoset.SS[bias_type=gender]"`: a changed model
    """

    from tiltmeter.comparing.comparability import ACROSS
    from tiltmeter.comparing.comparison import BY
    from tiltmeter.files import reject_unwritable_file, reject_unwritable_folder

    given: dict[str, Any] = {
        "by": parse_choice(by, BY, "--by"),
        "baseline": baseline,
        "measure": measure,
        "group": group,
        "size": size,
        "languages": languages,
        "over": over,
        "with": reference,
        "before": before,
        "after": after,
        "target": target,
        "quality-margin": quality_margin,
        "tuned-on": tuned_on,
        "attributes": attributes,
        "where": _parse_filters(where or []),
        "across": [name for text in across or [] if (name := parse_choice(text, ACROSS, "--across"))],
        "family": family if family != "portion" else None,
        "fixed": fixed,
        "html": html,
        "figures": figures,
        "latex": latex,
        "items": None if items == DEFAULT_ITEMS else items,
        "all": everything,
        "json": as_json,
    }
    kind = find_kind(given)
    reject_other_options(given, kind)
    for path in filter(None, (html, latex)):
        reject_unwritable_file(path)
    if figures is not None:
        reject_unwritable_folder(figures)
    compare_and_show(runs or [], kind, given)


def _parse_filters(texts: list[str]) -> dict[str, str]:
    filters = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"--where {text} is not NAME=VALUE, as in --where bias_type=gender.")
        filters[name.strip()] = value.strip()
    return filters
