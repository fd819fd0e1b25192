"""Reports on stereotypes that are not GEST's: names, sides and colours come from the items."""

from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_gest import SINGLE
from tests.reports.test_chat_report import unpacked
from tests.reports.test_figures import figures
from tests.runs.own_stereotypes import MIXED, TWENTY_FIVE, WOMEN, own_file
from tests.runs.test_gest import saved
from tiltmeter import evaluate
from tiltmeter.reports.report_page import make_report


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("models") / "masked", SINGLE)


def rows(figure: Any) -> list[dict[str, Any]]:
    (spec,) = figure.build_specs()
    return [row for data in spec["datasets"].values() for row in data if "side" in row]


def test_items_are_filtered_by_names_and_directed_by_sides(masked: str, tmp_path: Path) -> None:
    # With a second benchmark that has no stereotypes, the numbers of stereotypes become floats.
    result = evaluate(masked, [f"{own_file(tmp_path, MIXED)}/template-3", "starter/intrasentence:en"], limit=24)
    content = unpacked(make_report([("run", result)])[0])
    (packed,) = (one for one in content["sets"] if one["part"] == "template-3")
    assert packed["attributes"] == ["stereotype", "side", "sub_stereotype", "family_words"]
    words = content["words"]
    shown = {(words[item[3][0]], words[item[3][1]], item[2]) for item in packed["items"]}
    assert shown == {
        ("4 women are tidy", "feminine", -1),
        ("9 men are self-assured", "masculine", 1),
        ("17 men are punctual", "masculine", 1),
        ("18", "feminine", -1),
    }
    subs = {words[item[3][2]] for item in packed["items"] if item[3][2] >= 0}
    assert {"17 kind 0", "4 kind 1"} <= subs


def test_figures_have_the_stereotypes_of_the_data(masked: str, tmp_path: Path) -> None:
    drawn = figures(evaluate(masked, str(own_file(tmp_path, TWENTY_FIVE))))
    assert drawn["stereotypes"].title == "The 25 stereotypes"
    kinds = {"feminine": "about women", "masculine": "about men"}
    named = {f"{number} {name}": kinds[side] for number, (side, name) in TWENTY_FIVE.items()}
    for slug in ("stereotypes", "feminine-ranks"):
        assert {row["name"]: row["side"] for row in rows(drawn[slug])} == named
    assert "among the 25" in drawn["feminine-ranks"].caption


def test_one_side_is_not_said_to_be_right_of_the_other(masked: str, tmp_path: Path) -> None:
    drawn = figures(evaluate(masked, str(own_file(tmp_path, WOMEN))))
    assert "to the right of" not in drawn["stereotypes"].caption
    assert {row["side"] for row in rows(drawn["stereotypes"])} == {"about women"}
