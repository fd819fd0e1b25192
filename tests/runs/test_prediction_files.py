import json
from pathlib import Path
from typing import Any

import pytest

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
    ("content", "message"),
    [
        ("no json", r"gpt2_d_de\.json is not valid JSON"),
        ([1, 2], "is not an object with a list"),
        ({"intrasentence": {"a": 1}}, "is not an object with a list"),
        ({"intrasentence": [*entries("a"), "b"]}, r"intrasentence, prediction 4: an object with \"id\" and \"score\""),
        ({"intrasentence": [{"id": 7, "score": 1.0}]}, r"prediction 1: an object"),
        ({"intrasentence": [{"id": "a-stereotype"}]}, r"prediction 1: an object"),
        ({"intrasentence": [{"id": "a-stereotype", "score": "1"}]}, r"\(a-stereotype\): '1' is not a finite number"),
        ({"intrasentence": [{"id": "a-stereotype", "score": True}]}, r"True is not a finite number"),
        ({"intrasentence": [{"id": "a-stereotype", "score": None}]}, r"None is not a finite number"),
        ('{"intrasentence": [{"id": "a-stereotype", "score": NaN}]}', r"nan is not a finite number"),
        ('{"intrasentence": [{"id": "a-stereotype", "score": 1e999}]}', r"inf is not a finite number"),
        ({"intrasentence": [*entries("a"), *entries("a")]}, r"prediction 4: the id a-stereotype was there before"),
        ({"intrasentence": entries("a", "x", "b")}, r"3 of the 9 ids in 'intrasentence' .*'x-stereotype'"),
        ({"intrasentence": entries("a")[:2]}, r"no item with all its candidates; the first that lacks one is a"),
        ({"other": entries("a")}, r"no predictions for intrasentence; it has other"),
        ({}, r"no predictions for intrasentence; it has none"),
    ],
)
def test_invalid_files_are_errors(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_predictions(written(tmp_path, content), "stereotypes-multi", ITEMS[:2])


def test_integers_beyond_the_range_of_float_are_errors(tmp_path: Path) -> None:
    path = written(tmp_path, f'{{"intrasentence": [{{"id": "a-stereotype", "score": 1{"0" * 400}}}]}}')
    with pytest.raises(DataError, match="is not a finite number"):
        read_predictions(path, "stereotypes-multi", ITEMS[:2])


def test_missing_and_binary_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_predictions(tmp_path / "none.json", "stereotypes-multi", ITEMS)
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not UTF-8"):
        read_predictions(path, "stereotypes-multi", ITEMS)


def test_unknown_forms_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'csv' is not a form of predictions; there is stereotypes-multi"):
        read_predictions(written(tmp_path, {}), "csv", ITEMS)
