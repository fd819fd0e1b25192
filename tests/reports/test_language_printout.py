"""The outputs of a comparison of languages: terminal, page, figures and LaTeX."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.reports.language_analyses import make_analysis, make_comparison
from tiltmeter.comparing.language_results import LIKE, LanguageInference
from tiltmeter.reports.figure_files import save_figures
from tiltmeter.reports.language_latex import format_language_latex
from tiltmeter.reports.language_page import build_language_figures, render_language_page
from tiltmeter.reports.language_printout import print_languages


def _print(*, width: int = 110, everything: bool = False, comparison: object = None) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_languages(comparison or make_comparison(), console, everything=everything)  # type: ignore[arg-type]
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_answer_comes_first_and_means_are_sorted() -> None:
    lines = _print().splitlines()
    assert lines[0] == "Languages differ by up to 3.8 points."
    english, german = (
        next(n for n, line in enumerate(lines) if line.startswith(name)) for name in ("English", "German")
    )
    assert english < german
    assert "56.1" in lines[english]
    assert "[55.1, 57.1]" in lines[english]
    assert "[54.1, 58.1]" in lines[english]  # models like these


def test_details_are_printed_only_on_request() -> None:
    assert "Differences between languages" not in _print()
    text = _print(everything=True)
    for expected in (
        "English − German",
        "multilingual: false − true",
        "[0.0, 1.0]",
        "German – English",
        "0.31",
        "SS, intra",
    ):
        assert expected in text


def test_sentences_name_the_scope_and_the_verdict_on_the_test() -> None:
    text = " ".join(_print().split())
    assert "These models (2 models): languages differ (p = 0.004)" in text
    assert "standard deviation between: model 1.2, model × language 0.4" in text
    assert "do not depend significantly on the model (p = 0.400" in text
    assert "not measured by the same test" in text


def test_a_refused_scope_gives_its_reason() -> None:
    refused = LanguageInference(scope=LIKE, models=("a", "b"), reason="At least 5 models are needed.")
    text = " ".join(_print(comparison=make_comparison(make_analysis(like=refused))).split())
    assert "Models like these: At least 5 models are needed." in text


@pytest.mark.parametrize("width", [60, 80, 110])
def test_tables_fit_the_terminal(width: int) -> None:
    assert max(map(len, _print(width=width, everything=True).splitlines())) <= width


def test_several_analyses_begin_with_an_overview() -> None:
    comparison = make_comparison(make_analysis(), make_analysis(part="intersentence"))
    text = _print(comparison=comparison)
    assert text.index("All analyses") < text.index("SS by language")


def test_the_page_begins_with_the_answer_and_escapes_names() -> None:
    page = render_language_page(make_comparison())
    assert re.search(r"Answer</bdi></h2>\s*<p>Languages differ by up to 3\.8 points\.</p>", page)
    assert "<svg" in page
    assert "<b>gpt2</b>" not in page
    assert "<script" not in page


def test_figures_have_distinct_names(tmp_path: Path) -> None:
    comparison = make_comparison(make_analysis(), make_analysis())
    slugs = [figure.slug for _, figure in build_language_figures(comparison)]
    assert len(set(slugs)) == 2
    written = save_figures(build_language_figures(comparison), tmp_path)
    assert all(Path(path).stat().st_size for path in written)


def test_latex_has_means_and_differences() -> None:
    text = format_language_latex(make_comparison())
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 2
    assert r"\textbf{English $-$ German}" in text
    assert "56.1 & [55.1, 57.1]" in text
