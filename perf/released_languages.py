"""How different are the languages of StereoSet, by the 30 released prediction files of the published protocols?

TILTMETER_MIRROR=... python -m perf.released_languages [--over-protocols] [--json FILE]
"""

import argparse
import os
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import tiltmeter
from perf.released_verdicts import files
from perf.simulations.runner import markdown
from tiltmeter.comparing.language_comparison import LanguageAnalysis, LanguageComparison
from tiltmeter.comparing.language_results import ContrastEstimate, LanguageInference
from tiltmeter.files import write_text
from tiltmeter.printable_text import format_json

# The end of a file name names the architecture, the case and the language; the beginning names the model.
_METHOD = re.compile(r"_+(GPT2LM|BertLM|T5LM|mT5LM)_.*")
_ALTERNATIVE = "_orig_"


def load_results(mirror: Path, *, alternatives: bool) -> dict[str, tiltmeter.Result]:
    """Score the released files; a model has one name in all languages."""
    return {
        path.stem: tiltmeter.score_predictions(
            path, form=form, on=on, model=_METHOD.sub("", path.stem).replace("_", "/", 1)
        )
        for path, form, on in files(mirror)
        if "stereotypes-multi" in path.parts and (alternatives or _ALTERNATIVE not in path.stem)
    }


def describe(comparison: LanguageComparison) -> Iterator[str]:
    """Yield the answer and the tables of the primary measure."""
    yield comparison.sentence
    for analysis in comparison.analyses:
        if analysis.quantity.measure.decides:
            yield f"**{analysis.part}, {analysis.protocol}** ({len(analysis.models)} models, {analysis.items:,} items)"
            yield list_means(analysis)
            yield list_differences(analysis)
            yield list_groups(analysis)
            yield list_components(analysis)
            yield list_sentences(analysis)
    yield list_correlations(comparison)


def list_means(analysis: LanguageAnalysis) -> str:
    """Return the language means as a table."""
    scopes = [one for one in (analysis.these, analysis.same, analysis.like) if one is not None]
    rows = []
    for place, language in enumerate(analysis.languages):
        cells = [
            f"{one.means[place].value:.1f} [{one.means[place].low:.1f}, {one.means[place].high:.1f}]"
            if one.means
            else "–"
            for one in scopes
        ]
        rows.append([language, *cells])
    joint = [_format_joint(one) for one in scopes]
    return markdown([*rows, ["languages differ, p", *joint]], ["language", *(one.scope for one in scopes)])


def _format_joint(inference: LanguageInference) -> str:
    return "–" if inference.joint is None else f"{inference.joint.p_value:.3f}"


def list_differences(analysis: LanguageAnalysis) -> str:
    """Return the differences of languages as a table."""
    like = {(one.left, one.right): one.estimate for one in analysis.like.differences}
    rows = [
        [f"{one.left} − {one.right}", _format(one.estimate), _format(like.get((one.left, one.right)))]
        for one in analysis.these.differences
    ]
    return markdown(rows, ["difference", "these models", "models like these"])


def _format(estimate: ContrastEstimate | None) -> str:
    if estimate is None:
        return "–"
    mark = "*" if estimate.significant else ""
    return f"{estimate.value:+.1f} [{estimate.low:+.1f}, {estimate.high:+.1f}]{mark}"


def list_groups(analysis: LanguageAnalysis) -> str:
    """Return the effects of groups as a table."""
    rows = [
        [f"{one.attribute}: {one.left} − {one.right}", _format(one.these), _format(one.like)] for one in analysis.groups
    ]
    return markdown(rows, ["groups", "these models", "models like these"])


def list_components(analysis: LanguageAnalysis) -> str:
    """Return the shares of variance as a table."""
    rows = [
        [
            one.name,
            f"{one.share:.2%}",
            "–" if one.low is None or one.high is None else f"{one.low:.2%} to {one.high:.2%}",
        ]
        for one in analysis.components
    ]
    return markdown(rows, ["component", "share of variance", "95% interval"])


def list_sentences(analysis: LanguageAnalysis) -> str:
    """Return the sentences on interaction, invariance and quality."""
    found = []
    if analysis.interaction is not None:
        found.append(
            f"Interaction of language with {len(analysis.interaction.models)} models: "
            f"p = {analysis.interaction.joint.p_value:.2g}."
        )
    if analysis.invariance is not None:
        found.append(analysis.invariance.sentence)
    if analysis.quality is not None:
        found.append(analysis.quality.sentence)
    return " ".join(found)


def list_correlations(comparison: LanguageComparison) -> str:
    """Return the correlations between measures and parts as a table."""
    rows = [
        [
            f"{one.left}; {one.right}",
            f"{one.correlation:+.2f}",
            "–" if one.low is None or one.high is None else f"{one.low:+.2f} to {one.high:+.2f}",
            "–" if one.partial is None else f"{one.partial:+.2f}",
        ]
        for one in comparison.correlations
    ]
    return markdown(rows, ["measures", "correlation", "95% interval", "partial"])


def main() -> None:
    """Print the answer, the tables, the time and the memory."""
    parser = argparse.ArgumentParser(prog="python -m perf.released_languages", description=__doc__)
    parser.add_argument("--over-protocols", action="store_true")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    given = parser.parse_args()
    mirror = os.environ.get("TILTMETER_MIRROR")
    if not mirror or not Path(mirror).is_dir():
        parser.error("set TILTMETER_MIRROR to a folder with the released files")
    results = load_results(Path(mirror), alternatives=given.over_protocols)
    began, processor = time.monotonic(), time.process_time()
    comparison = tiltmeter.compare_languages(
        results, across=["kinds"], over="protocols" if given.over_protocols else None
    )
    taken = time.monotonic() - began, time.process_time() - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print("\n\n".join([*describe(comparison), *comparison.notes]))
    print(f"\n{len(results)} files: {taken[0]:.0f} s, {taken[1]:.0f} s of processor time, {memory:.2f} GiB")
    if given.json:
        write_text(given.json, format_json(comparison.to_dict()))


if __name__ == "__main__":
    main()
