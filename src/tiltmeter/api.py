"""Functions for finished runs, such as `load_run`, `summary`, `plot`, `compare`, `assess_change` and `check`.

Each function accepts a run as the path of its folder or as a `Result`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import pandas as pd

from tiltmeter.comparing import (
    change_assessment,
    comparison,
    crossed_languages,
    gate_check,
    grouped_comparison,
    reference_comparison,
    size_comparison,
)
from tiltmeter.comparing import strongest_items as strongest
from tiltmeter.comparing.attributes import ModelAttributes, find_run_attributes
from tiltmeter.comparing.cell_selection import parse_target
from tiltmeter.comparing.comparability import Across
from tiltmeter.comparing.comparison import By
from tiltmeter.comparing.gate_rules import Rule, parse_rule
from tiltmeter.comparing.gate_verdict import RuleVerdict
from tiltmeter.comparing.group_difference import GroupComparison
from tiltmeter.comparing.language_comparison import LanguageComparison
from tiltmeter.comparing.model_change import ModelChange
from tiltmeter.comparing.paired_difference import Comparison
from tiltmeter.comparing.reference_position import ReferenceComparison
from tiltmeter.comparing.reference_sets import load_references
from tiltmeter.comparing.size_slopes import SizeComparison
from tiltmeter.comparing.tuning_overlap import TuningTexts, read_tuning_texts
from tiltmeter.errors import UsageError
from tiltmeter.runs.measurement import read_families
from tiltmeter.runs.nested_runs import expand_run_folders
from tiltmeter.runs.result import Result

if TYPE_CHECKING:
    from altair import TopLevelMixin

Run = Path | str | Result
# The property for whose values a comparison of languages is repeated.
Over = Literal["protocols"]
OVER: tuple[Over, ...] = get_args(Over)


def load_run(path: Path | str) -> Result:
    """Return the result that is saved in the folder of a finished run.

    >>> import tiltmeter
    >>> result = tiltmeter.load_run("runs/bert")
    >>> record = next(record for record in result.records if record.measure == "SS" and record.part == "overall")
    >>> record.value, record.n, record.verdict.words
    (62.0, 800, 'significant bias towards stereotypes, beyond 5 points')
    """
    return Result.load(path)


def compare(
    runs: Sequence[Run] | Mapping[str, Run],
    *,
    by: By | None = None,
    baseline: str | None = None,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
    family: str = "portion",
    fixed: Sequence[str] | None = None,
) -> Comparison:
    """Compare models that answered the same items, or languages that have translations of the same items.

    Differences are computed item by item, with 95% intervals and Holm's correction for multiple tests. `runs` are runs
    or folders that contain runs; the keys of a mapping become the names of its runs. `by` is `model`, `language` or
    `any`; `any` compares different models in different languages. With `baseline`, all other models, languages or runs
    are compared only with this one. `where` selects items, for example `{"bias_type": "gender"}`. `across` names the
    properties in which the runs may differ: `kinds` (of models), `protocols`, `editions` (of data sets) or
    `tokenizers`. `family` says which tests are corrected together: the tests of a measure in one part and language
    (`portion`), or all tests of the comparison (`run`). `fixed` are factors over which the results do not generalise,
    for example `["words"]`; the default are the factors that are fixed in all runs.

    >>> import tiltmeter
    >>> comparison = tiltmeter.compare(["runs/bert", "runs/roberta"], measures=["SS"])
    >>> difference = comparison.differences[-1]
    >>> difference.part, difference.contrast.difference, difference.verdict
    ('overall', 11.0, 'significant')
    """
    _reject_unknown_by(by)
    return comparison.compare(
        _load_compared_runs(runs, fixed),
        by=by,
        baseline=baseline,
        measures=measures,
        where=where or {},
        across=across,
        families=read_families(family),
    )


def compare_groups(
    runs: Sequence[Run] | Mapping[str, Run],
    attribute: str,
    *,
    by: By | None = None,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
    attributes: Path | str | None = None,
    family: str = "portion",
    fixed: Sequence[str] | None = None,
) -> GroupComparison:
    """Compare groups of models or languages that differ in an attribute, such as `instruct` or `script=Latin,Greek`.

    `attributes` is a TOML file with attributes of models; the default is the file `plan.toml` in the folder of the runs
    or in a folder above. The other parameters are those of `compare`.
    """
    _reject_unknown_by(by)
    named = _load_compared_runs(runs, fixed)
    return grouped_comparison.compare_groups(
        named,
        attribute,
        _find_attributes(runs, attributes),
        by=by,
        measures=measures,
        where=where or {},
        across=across,
        families=read_families(family),
    )


def compare_sizes(
    runs: Sequence[Run] | Mapping[str, Run],
    *,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
    attributes: Path | str | None = None,
    family: str = "portion",
    fixed: Sequence[str] | None = None,
) -> SizeComparison:
    """Estimate how each measure changes with model size within a model family.

    The parameters are those of `compare_groups`.
    """
    named = _load_compared_runs(runs, fixed)
    return size_comparison.compare_sizes(
        named,
        _find_attributes(runs, attributes),
        measures=measures,
        where=where or {},
        across=across,
        families=read_families(family),
    )


def compare_languages(
    runs: Sequence[Run] | Mapping[str, Run],
    *,
    group: str | None = None,
    over: Over | None = None,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
    attributes: Path | str | None = None,
    family: str = "portion",
    fixed: Sequence[str] | None = None,
) -> LanguageComparison:
    """Compare languages over all models of the runs, for these models and, as a sample, for similar models.

    `group` is the only attribute by which models or languages are grouped; the default is every attribute that is
    known. `over="protocols"` repeats the analysis for each protocol. The other parameters are those of
    `compare_groups`.
    """
    if over is not None and over not in OVER:
        raise UsageError(f"over={over!r} is not known; choose {', '.join(OVER)}.")
    named = _load_compared_runs(runs, fixed)
    return crossed_languages.compare_languages(
        named,
        _find_attributes(runs, attributes),
        measures=measures,
        where=where or {},
        across=across,
        group=group,
        over_protocols=over is not None,
        families=read_families(family),
    )


def compare_with_references(
    runs: Sequence[Run] | Mapping[str, Run],
    source: Path | str = "published",
    *,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
    family: str = "portion",
    fixed: Sequence[str] | None = None,
) -> ReferenceComparison:
    """Compare each run with reference results.

    `source` is "published" for published results (after `tiltmeter reference fetch`), or the path of a reference file
    or of a folder with reference files or runs. The other parameters are those of `compare`.
    """
    named = _load_compared_runs(runs, fixed)
    portions = frozenset().union(*(run.manifest.portions for _, run in named))
    return reference_comparison.compare_with_references(
        named,
        load_references(source, portions),
        str(source),
        measures=measures,
        where=where or {},
        across=across,
        families=read_families(family),
    )


def _reject_unknown_by(by: str | None) -> None:
    if by is not None and by not in comparison.BY:
        raise UsageError(f"by={by!r} is not known; choose {', '.join(comparison.BY)}.")


def _load_compared_runs(
    runs: Sequence[Run] | Mapping[str, Run], fixed: Sequence[str] | None
) -> list[tuple[str, Result]]:
    """Return (name, result) of each run, all with the same fixed factors; no folder may be given twice."""
    _reject_duplicates(_list_runs(runs))
    return _load_with_fixed_factors(runs, fixed)


def _find_attributes(runs: Sequence[Run] | Mapping[str, Run], attributes: Path | str | None) -> ModelAttributes:
    folders = [Path(run).resolve() for run in _list_runs(runs) if not isinstance(run, Result)]
    return find_run_attributes(folders, None if attributes is None else Path(attributes))


def assess_change(
    before: Run | Sequence[Run],
    after: Run | Sequence[Run],
    *,
    targets: str | Sequence[str] = (),
    quality_margin: float = change_assessment.QUALITY_MARGIN,
    tuned_on: Path | str | Sequence[str] | None = None,
    across: Sequence[Across] = (),
    fixed: Sequence[str] | None = None,
) -> ModelChange:
    """Compare a model before and after a change, such as debiasing or quantisation; the result is a verdict.

    `before` and `after` are the runs of the two models. `targets` are the results that the change was meant to improve,
    as `BENCHMARK[/PART][:LANGUAGE][.MEASURE][[NAME=GROUP]]`; the default is the primary measure of each benchmark. All
    other bias types, languages and benchmarks are checked for harm, and quality (LMS, accuracy) for a loss of more than
    `quality_margin` percentage points. `tuned_on` is a file with the texts that the model was tuned on, or a list of
    these texts. `across` and `fixed` are as in `compare`.

    >>> import tiltmeter
    >>> change = tiltmeter.assess_change("runs/bert", "runs/roberta")
    >>> change.verdict, change.rows[0].outcome
    ('helped', 'closer')
    """
    sides = [_list_runs([side] if isinstance(side, str | Path | Result) else side) for side in (before, after)]
    for side, name in zip(sides, ("before", "after"), strict=True):
        if not side:
            raise UsageError(f"There is no run {name} the change; give at least one with --{name}.")
    named = _load_with_fixed_factors([run for side in sides for run in side], fixed)
    tuned = None
    if tuned_on is not None:
        tuned = read_tuning_texts(Path(tuned_on)) if isinstance(tuned_on, str | Path) else TuningTexts(tuned_on)
    return change_assessment.assess_change(
        named[: len(sides[0])],
        named[len(sides[0]) :],
        targets=[parse_target(text) for text in _convert_to_texts(targets)],
        quality_margin=quality_margin,
        tuned=tuned,
        across=across,
    )


def check(
    run: Run,
    *,
    max: str | Sequence[str] = (),
    min: str | Sequence[str] = (),
    no_worse_than: float | str | Sequence[str] = (),
    rules: Sequence[Rule] = (),
    baseline: Run | None = None,
    lenient: bool = False,
    across: Sequence[Across] = (),
) -> list[RuleVerdict]:
    """Check a run against rules, and return the verdicts; `passed` of a verdict is true if the run passes the rule.

    A rule is `BENCHMARK[/PART][:LANGUAGE].MEASURE [distance] NUMBER`, as in `tiltmeter check`. `max` and `min` are
    upper and lower limits. `no_worse_than` limits how much worse the run may be than the run `baseline`. `rules` are
    additional parsed rules, for example from a configuration file. With `lenient`, a rule fails only if the data show
    that it is violated. Measures are recomputed from the scores of the run.

    >>> import tiltmeter
    >>> verdicts = tiltmeter.check("runs/bert", max="stereoset.SS distance 5", min="stereoset.LMS 60")
    >>> [(str(verdict.rule), verdict.outcome, verdict.passed) for verdict in verdicts]
    [('max stereoset.SS distance 5', 'broken', False), ('min stereoset.LMS 60', 'holds', True)]
    """
    if isinstance(no_worse_than, int | float):
        no_worse_than = str(no_worse_than)
    all_rules = [
        *(parse_rule("max", text) for text in _convert_to_texts(max)),
        *(parse_rule("min", text) for text in _convert_to_texts(min)),
        *(parse_rule("no-worse-than", text) for text in _convert_to_texts(no_worse_than)),
        *rules,
    ]
    if baseline is not None and not any(rule.kind == "no-worse-than" for rule in all_rules):
        raise UsageError("--baseline needs a rule that compares with it; add a rule such as --no-worse-than 2.")
    # Recompute the measures from the scores, so that editing measures.json does not change the outcome.
    runs = [_load_result(one).remeasure() for one in (run, baseline) if one is not None]
    return gate_check.check(
        runs[0], all_rules, baseline=None if baseline is None else runs[1], lenient=lenient, across=across
    )


def report(
    runs: Run | Sequence[Run] | Mapping[str, Run],
    out: Path | str | None = None,
    *,
    figures: Path | str | None = None,
) -> Path:
    """Write the HTML report on one or more runs, and return the path of the report.

    `out` is the file to write; the default for a single run is `report.html` in the folder of the run. `figures` is a
    folder to which the figures are saved as SVG, PNG and PDF files.

    >>> import tiltmeter
    >>> tiltmeter.report(["runs/bert", "runs/roberta"], out="both.html").stat().st_size > 100_000
    True
    """
    # Imported here, because altair takes a second to import and other functions do not need it.
    from tiltmeter.reports.report_files import get_report_path, reject_unwritable_report, write_report

    if isinstance(runs, str | Path | Result):
        runs = [runs]
    folders = [run for run in _list_runs(runs) if not isinstance(run, Result)]
    if out is None and not folders:
        raise UsageError("A result that was not saved has no folder for its report; name a file with `out`.")
    path = get_report_path([Path(folder) for folder in folders], None if out is None else Path(out))
    reject_unwritable_report(path, None if figures is None else Path(figures))
    write_report(load_named_runs(runs), path, None if figures is None else Path(figures))
    return path


def statement(run: Run, out: Path | str | None = None, *, by: str) -> Path:
    """Write a page on a run for managers and auditors, and return its path.

    The page has the finding, its limits, data, protocol and hashes, and an annex on provisions for which it can be
    evidence. `out` is the HTML file to write; the default is `statement.html` in the folder of the run. `by` is the
    person or organisation that made the run.

    >>> import tiltmeter
    >>> tiltmeter.statement("runs/bert", by="Example Ltd").name
    'statement.html'
    """
    from tiltmeter.reports.statement_page import get_statement_path, write_statement

    folder = None if isinstance(run, Result) else Path(run)
    path = get_statement_path(folder, None if out is None else Path(out))
    write_statement(_load_result(run), path, by=by, folder=folder)
    return path


def summary(run: Run) -> pd.DataFrame:
    """Return a table with the primary measure, such as SS, and its verdict by model, benchmark, language and part.

    The columns `value`, `low` and `high` (the ends of the 95% interval), `n` and `p` (corrected) are numbers.

    >>> import tiltmeter
    >>> last = tiltmeter.summary("runs/bert").iloc[-1]
    >>> print(last["part"], last["measure"], last["value"], last["n"])
    overall SS 62.0 800
    """
    from tiltmeter.reports.notebook import build_summary_frame

    return build_summary_frame(_load_result(run))


def plot(run: Run, benchmark: str | None = None, figure: str | None = None) -> "TopLevelMixin":
    """Return a figure of the report as an Altair chart; notebooks display the chart, and `chart.save` writes a file.

    The default is the first figure of the first benchmark. `figure` is the name of a figure: the name of a file that
    `report(..., figures=…)` writes.
    """
    from tiltmeter.reports.notebook import build_chart

    return build_chart(_load_result(run), benchmark, figure)


def strongest_items(run: Run, top: int = 20) -> pd.DataFrame:
    """Return the `top` items with the strongest preference for the stereotype, for each model, part and language.

    The table contains the texts of the items, which may be offensive.
    """
    return strongest.select_strongest_items(_load_result(run), top)


def load_named_runs(runs: Sequence[Run] | Mapping[str, Run]) -> list[tuple[str, Result]]:
    """Return (name, result) of each run.

    The name is the key in a mapping, otherwise the name of the folder, or "run N" for a `Result` object.
    """
    if isinstance(runs, Mapping):
        return [(name, _load_result(run)) for name, run in runs.items()]
    listed = _list_runs(runs)
    _reject_duplicates(listed)
    folders = iter(derive_run_names([Path(run) for run in listed if not isinstance(run, Result)]))
    return [
        (f"run {number}" if isinstance(run, Result) else next(folders), _load_result(run))
        for number, run in enumerate(listed, start=1)
    ]


def _load_with_fixed_factors(
    runs: Sequence[Run] | Mapping[str, Run], fixed: Sequence[str] | None
) -> list[tuple[str, Result]]:
    """Load runs; if `fixed` is given, compute their records again so that they do not generalise over these factors."""
    named = load_named_runs(runs)
    return named if fixed is None else [(name, result.remeasure(fixed=fixed)) for name, result in named]


def derive_run_names(folders: Sequence[Path]) -> list[str]:
    """Return a name for each run: the name of its folder, or its path if several folders have the same name.

    >>> derive_run_names([Path("runs/bert"), Path("old/bert"), Path("runs/gpt2")])
    ['runs/bert', 'old/bert', 'gpt2']
    """
    names = [folder.resolve().name for folder in folders]
    return [str(folder) if names.count(name) > 1 else name for name, folder in zip(names, folders, strict=True)]


def _list_runs(runs: Sequence[Run] | Mapping[str, Run]) -> list[Run]:
    if isinstance(runs, str | Path):
        raise UsageError(f"Expected a list of runs, not the single run {str(runs)!r}; put it into a list.")
    if isinstance(runs, Mapping):
        return list(runs.values())
    return [one for run in runs for one in ([run] if isinstance(run, Result) else expand_run_folders([Path(run)]))]


def _reject_duplicates(runs: Sequence[Run]) -> None:
    identities = [id(run) if isinstance(run, Result) else Path(run).resolve() for run in runs]
    if len(set(identities)) < len(identities):
        raise UsageError("The same run is given twice; give each run only once.")


def _load_result(run: Run) -> Result:
    return run if isinstance(run, Result) else Result.load(run)


def _convert_to_texts(texts: str | Sequence[str]) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts
