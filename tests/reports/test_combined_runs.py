from dataclasses import replace

from tests.reports import made
from tiltmeter.reports.combined_runs import combine_runs
from tiltmeter.runs.result import Result


def in_context(result: Result) -> Result:
    return replace(
        result,
        scores=result.scores.assign(protocol="in-context"),
        records=[replace(record, protocol="in-context") for record in result.records],
    )


def models(*runs: tuple[str, Result]) -> list[str]:
    gathered = combine_runs(runs)
    models = list(dict.fromkeys(record.model for record in gathered.records))
    assert set(models) == set(gathered.scores["model"])
    return models


def test_a_model_that_was_measured_twice_keeps_its_name_and_gets_what_differs() -> None:
    once = made.association(["ada"], "starter:en", intervals=False)
    assert models(("a", once), ("b", in_context(once))) == ["ada · published", "ada · in-context"]
    assert models(("a", once), ("b", once)) == ["ada · a", "ada · b"]


def test_a_model_on_two_benchmarks_is_one_model() -> None:
    once = made.association(["ada"], "starter:en", intervals=False)
    assert models(("a", once), ("b", made.pairs(["ada"]))) == ["ada"]


def test_paths_are_shortened_to_what_tells_them_apart() -> None:
    once = made.association(
        ["/home/ada/tiny", "/home/bea/tiny", "./large/", "dbmdz/german-gpt2"], "starter:en", intervals=False
    )
    assert sorted(models(("a", once))) == ["ada/tiny", "bea/tiny", "dbmdz/german-gpt2", "large"]


def test_names_without_end_are_cut_and_stay_different() -> None:
    once = made.association(["m" * 5000 + "1", "m" * 5000 + "2"], "starter:en", intervals=False)
    first, second = models(("a", once))
    assert first != second
    assert len(first) < 80
