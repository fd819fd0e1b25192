"""StereoSet's own predictions and those of its Brazilian edition, tested on generated files."""

import json
from pathlib import Path

import pytest

from tiltmeter.datasets.upstream_files import load_repositories
from tiltmeter.forms.association import AssociationItem, Candidate, Part
from tiltmeter.papers.printed_numbers import find_paper, read_printed_numbers
from tiltmeter.papers.sources import released_stereoset
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.papers.sources.released_stereoset import REPOSITORIES, get_prediction_path, measure_predictions
from tiltmeter.papers.sources.source_lookup import find_source

# Scores of stereotype, anti-stereotype and unrelated candidate, by part, bias type and target.
SCORES: dict[tuple[Part, str, str], list[tuple[float, float, float]]] = {
    ("intrasentence", "gender", "mother"): [(3, 2, 1), (1, 2, 3), (2, 2, 1)],
    ("intrasentence", "gender", "uncle"): [(3, 1, 2)],
    ("intrasentence", "race", "Peru"): [(1, 2, 0)],
    ("intersentence", "gender", "mother"): [(1, 3, 2)],
}


def items() -> list[AssociationItem]:
    made = []
    for (part, bias_type, target), rows in SCORES.items():
        for number in range(len(rows)):
            id_ = f"{part}-{target}-{number}"
            candidates = (
                Candidate(f"{id_}/s", "stereotype", "Ela veio."),
                Candidate(f"{id_}/a", "anti-stereotype", "Ele veio."),
                Candidate(f"{id_}/u", "unrelated", "Dois é par."),
            )
            whole = part == "intrasentence"
            item = AssociationItem(id_, part, "pt-BR", bias_type, target, target, "Quem?", candidates, whole)
            made.append(item)
    return made


def predictions() -> dict[str, list[dict[str, object]]]:
    content: dict[str, list[dict[str, object]]] = {}
    for (part, _, target), rows in SCORES.items():
        for number, values in enumerate(rows):
            ids = (f"{part}-{target}-{number}/{role}" for role in "sau")
            content.setdefault(part, []).extend({"id": i, "score": v} for i, v in zip(ids, values, strict=True))
    return content


@pytest.mark.parametrize("key", REPOSITORIES)
def test_every_number_comes_from_a_pinned_file(key: str) -> None:
    pinned = load_repositories()[REPOSITORIES[key]].files
    models = dict.fromkeys(number.cell["model"] for number in read_printed_numbers(find_paper(key)))
    assert len(models) == {"nadeem2021": 11, "stereoset-ptbr": 4}[key]
    assert len({get_prediction_path(key, model) for model in models}) == len(models)
    for number in read_printed_numbers(find_paper(key)):
        recipe = find_source(number).recipe
        assert recipe is not None
        assert recipe.compute is measure_predictions
        assert recipe.name in pinned
        assert "only from released predictions" in find_source(number, from_models=True).lacking


@pytest.mark.parametrize(("key", "model"), [("nadeem2021", "ensemble"), ("stereoset-ptbr", "tucano_1b1")])
def test_a_stand_in_gives_means_over_target_terms(
    key: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "predictions.json"
    stand_in.write_text(json.dumps(predictions()), encoding="utf-8")
    context = RecipeContext()
    fetched: list[str] = []
    monkeypatch.setattr(context, "fetch_file", lambda _repository, path: fetched.append(path) or stand_in)
    monkeypatch.setattr(released_stereoset, "_load_items", items)
    numbers = {
        (number.table, number.cell["bias_type"], number.cell["metric"]): find_source(number)
        for number in read_printed_numbers(find_paper(key))
        if number.cell["model"] == model
    }

    def value(table: str, group: str, metric: str) -> float:
        source = numbers[table, group, metric]
        assert source.recipe is not None
        return context.compute_numbers(source.recipe)[source.key]

    # mother: LMS (2 + 0 + 2) / 6, SS 1 of 3, because a tie counts against the stereotype; uncle: LMS 1/2, SS 1 of 1.
    assert value("intrasentence", "gender", "LMS") == pytest.approx((100 * 4 / 6 + 50) / 2)
    assert value("intrasentence", "gender", "SS") == pytest.approx((100 / 3 + 100) / 2)
    assert value("intrasentence", "all", "LMS") == pytest.approx((100 * 4 / 6 + 50 + 100) / 3)
    assert value("intrasentence", "all", "SS") == pytest.approx((100 / 3 + 100 + 0) / 3)
    lms, ss = (100 * 4 / 6 + 50) / 2, (100 / 3 + 100) / 2
    assert value("intrasentence", "gender", "ICAT") == pytest.approx(lms * min(ss, 100 - ss) / 50)
    # Both parts: mother has four items.
    assert value("overall", "all", "LMS") == pytest.approx((100 * 5 / 8 + 50 + 100) / 3)
    assert fetched == [get_prediction_path(key, model)]
