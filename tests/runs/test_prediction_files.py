import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.association import AssociationItem, Candidate, Part, Role
from tiltmeter.runs.prediction_files import read_predictions

ROLES: tuple[Role, ...] = ("stereotype", "anti-stereotype", "unrelated")


def item(identifier: str, part: Part = "intrasentence") -> AssociationItem:
    candidates = tuple(Candidate(f"{identifier}-{role}", role, f"A sentence of {role}.") for role in ROLES)
    return AssociationItem(identifier, part, "de", "profession", "nurse", "Krankenpflegerin", "A BLANK.", candidates)


ITEMS = [item("a"), item("b"), item("c", "intersentence")]


def entries(*identifiers: str) -> list[dict[str, Any]]:
    return [{"id": f"{i}-{role}", "score": number / 10} for i in identifiers for number, role in enumerate(ROLES)]


def written(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "gpt2_d_de.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_scores_have_the_attributes_of_their_items(tmp_path: Path) -> None:
    path = written(tmp_path, {"intrasentence": entries("b", "a")[::-1], "intersentence": entries("c")})
    result = read_predictions(path, "stereotypes-multi", ITEMS)
    assert not result.skipped
    assert not result.absent
    assert len(result.scores) == 9
    assert result.scores.iloc[4].to_dict() == {
        "model": "gpt2_d_de",
        "benchmark": "stereoset",
        "part": "intrasentence",
        "language": "de",
        "item": "b",
        "candidate": "b-anti-stereotype",
        "role": "anti-stereotype",
        "score": 0.1,
        "bias_type": "profession",
        "target": "nurse",
        "stereotype_word": "",
        "anti_stereotype_word": "",
        "length_difference": len("stereotype") - len("anti-stereotype"),
        "protocol": "published",
    }


def test_the_model_may_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, {"intrasentence": entries("a", "b")})
    result = read_predictions(path, "stereotypes-multi", ITEMS[:2], model="GPT-2", benchmark="mine")
    assert set(result.scores["model"]) == {"GPT-2"}
    assert set(result.scores["benchmark"]) == {"mine"}


def test_parts_that_were_not_requested_are_ignored(tmp_path: Path) -> None:
    path = written(tmp_path, {"intrasentence": entries("a", "b"), "intersentence": entries("unheard-of")})
    assert len(read_predictions(path, "stereotypes-multi", ITEMS[:2]).scores) == 6


def test_missing_parts_are_listed(tmp_path: Path) -> None:
    result = read_predictions(written(tmp_path, {"intersentence": entries("c")}), "stereotypes-multi", ITEMS)
    assert result.absent == ["intrasentence"]
    assert set(result.scores["item"]) == {"c"}


def test_items_that_lack_a_score_are_listed(tmp_path: Path) -> None:
    content = {"intrasentence": entries("a", "b")[:-1]}
    result = read_predictions(written(tmp_path, content), "stereotypes-multi", ITEMS[:2])
    assert set(result.scores["item"]) == {"a"}
    assert [(skip.item, skip.reason) for skip in result.skipped] == [
        ("b", "the file has no score for some of its candidates")
    ]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("no json", ("gpt2_d_de.json", "JSON")),
        ([1, 2], ("gpt2_d_de.json", "a list of predictions")),
        ({"intrasentence": {"a": 1}}, ("gpt2_d_de.json", "a list of predictions")),
        ({"intrasentence": [*entries("a"), "b"]}, ("intrasentence, prediction 4", '"id" and "score"')),
        ({"intrasentence": [{"id": 7, "score": 1.0}]}, ("prediction 1", '"id" and "score"')),
        ({"intrasentence": [{"id": "a-stereotype"}]}, ("prediction 1", '"id" and "score"')),
        ({"intrasentence": [{"id": "a-stereotype", "score": "1"}]}, ("(a-stereotype): '1'", "finite number")),
        ({"intrasentence": [{"id": "a-stereotype", "score": True}]}, ("True", "finite number")),
        ({"intrasentence": [{"id": "a-stereotype", "score": None}]}, ("None", "finite number")),
        ('{"intrasentence": [{"id": "a-stereotype", "score": NaN}]}', ("nan", "finite number")),
        ('{"intrasentence": [{"id": "a-stereotype", "score": 1e999}]}', ("inf", "finite number")),
        ({"intrasentence": [*entries("a"), *entries("a")]}, ("prediction 4", "a-stereotype occurs twice")),
        ({"intrasentence": entries("a", "x", "b")}, ("3 of the 9", "'intrasentence'", "'x-stereotype'")),
        ({"intrasentence": entries("a")[:2]}, ("all candidates", "item is a")),
        ({"other": entries("a")}, ("intrasentence, only for other",)),
        ({}, ("intrasentence, only for nothing",)),
    ],
)
def test_invalid_files_are_errors(tmp_path: Path, content: object, parts: tuple[str, ...]) -> None:
    with raises_mentioning(DataError, *parts):
        read_predictions(written(tmp_path, content), "stereotypes-multi", ITEMS[:2])


def test_integers_beyond_the_range_of_float_are_errors(tmp_path: Path) -> None:
    path = written(tmp_path, f'{{"intrasentence": [{{"id": "a-stereotype", "score": 1{"0" * 400}}}]}}')
    with raises_mentioning(DataError, "prediction 1 (a-stereotype)", "finite number"):
        read_predictions(path, "stereotypes-multi", ITEMS[:2])


def test_missing_and_binary_files_are_errors(tmp_path: Path) -> None:
    with raises_mentioning(DataError, "none.json", "No such file"):
        read_predictions(tmp_path / "none.json", "stereotypes-multi", ITEMS)
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00")
    with raises_mentioning(DataError, "binary.json", "UTF-8"):
        read_predictions(path, "stereotypes-multi", ITEMS)


def test_unknown_forms_are_errors(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "'csv'", "stereotypes-multi"):
        read_predictions(written(tmp_path, {}), "csv", ITEMS)
