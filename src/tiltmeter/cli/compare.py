"""`tiltmeter compare`: compare runs item by item."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.compare_output import (
    show_change,
    show_groups,
    show_languages,
    show_pairs,
    show_references,
    show_sizes,
)
from tiltmeter.cli.output import parse_choice
from tiltmeter.errors import UsageError

_DEFAULT_ITEMS = 200


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
            help="Compare languages over all models, for these models and for models like these; --group selects an "
            "attribute of models or languages.",
        ),
    ] = False,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --languages: repeat the analysis for each of the `protocols` of the runs."
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
            metavar="FACTOR", help="Do not generalise over this factor, such as `words` or `targets`; repeat for more."
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
    ] = _DEFAULT_ITEMS,
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

    from tiltmeter import api
    from tiltmeter.comparing.comparability import ACROSS
    from tiltmeter.comparing.comparison import BY
    from tiltmeter.files import reject_unwritable_file, reject_unwritable_folder

    if figures is not None and not (size or languages or reference or before):
        raise UsageError(
            "--figures needs --size, --languages, --with or --before; add one of them, or use `tiltmeter report` for "
            "figures of single runs."
        )
    if latex is not None and not (languages or reference or before):
        raise UsageError(
            "--latex needs --languages, --with or --before; add one of them, or use `tiltmeter show RUN… --latex` for "
            "several runs."
        )
    for path in filter(None, (html, latex)):
        reject_unwritable_file(path)
    if figures is not None:
        reject_unwritable_folder(figures)
    allowed = [name for text in across or [] if (name := parse_choice(text, ACROSS, "--across"))]
    change_options = {"target": target, "quality-margin": quality_margin, "tuned-on": tuned_on}
    if before or after:
        other_options = {
            "by": by,
            "baseline": baseline,
            "measure": measure,
            "group": group,
            "size": size,
            "with": reference,
            "over": over,
            "languages": languages,
            "attributes": attributes,
            "where": where,
            "family": family != "portion",
        }
        _reject_options(other_options, "cannot be combined with --before and --after; leave it out")
        if runs:
            raise UsageError(f"{runs[0]} is given without --before or --after; write one of these options before it.")
        for side, given, other in (("before", before, "after"), ("after", after, "before")):
            if not given:
                raise UsageError(f"--{other} needs --{side}; add --{side} RUN.")
        margin: Any = {} if quality_margin is None else {"quality_margin": quality_margin}
        change = api.assess_change(
            before or [], after or [], targets=target or (), tuned_on=tuned_on, across=allowed, fixed=fixed, **margin
        )
        show_change(change, as_json, everything, html, figures, latex, items)
        return
    _reject_options(change_options, "needs --before and --after; add both, or leave it out")
    if not runs:
        raise UsageError("No runs are given; name the runs to compare, or use --before RUN and --after RUN.")
    chosen_by = parse_choice(by, BY, "--by")
    options: Any = {
        "baseline": baseline,
        "measures": measure or (),
        "where": _parse_filters(where or []),
        "across": allowed,
        "attributes": attributes,
        "family": family,
        "fixed": fixed,
        "over": parse_choice(over, api.OVER, "--over"),
    }
    if (group is not None or size or languages or reference) and items != _DEFAULT_ITEMS:
        raise UsageError("--items cannot be combined with --group, --size, --languages or --with; leave --items out.")
    if (group is not None or size) and everything and not languages:
        raise UsageError("--all cannot be combined with --group or --size; leave --all out.")
    if group is not None and size:
        raise UsageError("--size cannot be combined with --group; leave out one of them.")
    if reference is not None:
        found = api.compare(
            runs, by=chosen_by, group=group, size=size, languages=languages, reference=reference, **options
        )
        show_references(found, as_json, everything, html, figures, latex)
    elif languages:
        comparison = api.compare(runs, by=chosen_by, group=group, size=size, languages=True, **options)
        show_languages(comparison, as_json, everything, html, figures, latex)
    elif group is not None:
        show_groups(api.compare(runs, by=chosen_by, group=group, **options), as_json, html)
    elif size:
        show_sizes(api.compare(runs, by=chosen_by, size=True, **options), as_json, html, figures)
    else:
        show_pairs(api.compare(runs, by=chosen_by, **options), as_json, html, items, everything)


def _reject_options(given: Mapping[str, Any], reason: str) -> None:
    """Raise an error for the first option that is given; `reason` is the end of the message, with the remedy."""
    for name, value in given.items():
        if value or (value == 0 and value is not False):
            raise UsageError(f"--{name} {reason}.")


def _parse_filters(texts: list[str]) -> dict[str, str]:
    filters = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"--where {text} is not NAME=VALUE, as in --where bias_type=gender.")
        filters[name.strip()] = value.strip()
    return filters
