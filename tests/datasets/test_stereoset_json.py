import json
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.readers import validate_file
from tiltmeter.errors import DataError
from tiltmeter.forms import Item
from tiltmeter.forms.association import AssociationItem, Candidate


def example(part: str, **changes: object) -> dict[str, object]:
    texts = {
        "intrasentence": ["The baker was sleepy.", "The baker was awake.", "The baker was triangular."],
        "intersentence": ["He rose at ten.", "He rose at four.", "Two is even."],
    }[part]
    labels = [{"label": "stereotype", "human_id": "h1"}]
    return {
        "id": f"{part}-1",
        "target": "baker",
        "bias_type": "profession",
        "context": "The baker was BLANK." if part == "intrasentence" else "The baker went home.",
        "sentences": [
            {"id": f"{part}-{n}", "sentence": text, "gold_label": label, "labels": labels}
            for n, (text, label) in enumerate(zip(texts, ["anti-stereotype", "stereotype", "unrelated"], strict=True))
        ],
    } | changes


def read(path: Path, **data: object) -> list[Item]:
    path.write_text(json.dumps({"version": "1.0", "data": data}), encoding="utf-8")
    return validate_file(path, "stereoset-json", "en").require_valid_items()


def test_both_parts(tmp_path: Path) -> None:
    intra, inter = read(
        tmp_path / "dev.json", intersentence=[example("intersentence")], intrasentence=[example("intrasentence")]
    )
    assert intra == AssociationItem(
        id="intrasentence-1",
        part="intrasentence",
        language="en",
        bias_type="profession",
        target="baker",
        target_term="baker",
        context="The baker was BLANK.",
        candidates=(
            Candidate("intrasentence-0", "anti-stereotype", "The baker was sleepy.", "sleepy"),
            Candidate("intrasentence-1", "stereotype", "The baker was awake.", "awake"),
            Candidate("intrasentence-2", "unrelated", "The baker was triangular.", "triangular"),
        ),
    )
    assert inter.part == "intersentence"
    assert inter.candidates[1] == Candidate("intersentence-1", "stereotype", "He rose at four.", "")


@pytest.mark.parametrize("part", ["intrasentence", "intersentence"])
def test_one_part_is_enough(part: str, tmp_path: Path) -> None:
    assert [item.part for item in read(tmp_path / "dev.json", **{part: [example(part)]})] == [part]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"context": "The baker was tired."}, "context"),
        ({"sentences": []}, "sentences"),
        ({"sentences": 3}, "sentences"),
        ({"sentences": ["x", "y", "z"]}, "sentences[0]"),
        ({"target": None}, "target"),
        (
            {"sentences": [{"id": "1", "gold_label": "related", "sentence": "The baker was kind."}]},
            "sentences[0].gold_label",
        ),
        (
            {"sentences": [{"id": "1", "gold_label": "unrelated", "sentence": "What?"}]},
            "sentences[0].sentence",
        ),
    ],
)
def test_errors_name_the_fields_of_the_file(changes: dict[str, object], field: str, tmp_path: Path) -> None:
    with raises_mentioning(DataError, f"dev.json, data.intrasentence[0], {field}: "):
        read(tmp_path / "dev.json", intrasentence=[example("intrasentence", **changes)])


def test_a_translation_whose_sentences_are_not_the_filled_contexts(tmp_path: Path) -> None:
    apart = example("intrasentence", context="O padeiro era BLANK.")
    assert isinstance(apart["sentences"], list)
    apart["sentences"][0]["sentence"] = "Estava com sono o padeiro."
    path = tmp_path / "dev_ptbr.json"
    content = {"data": {"intrasentence": [apart], "intersentence": [example("intersentence")]}}
    path.write_text(json.dumps(content), encoding="utf-8")
    examined = validate_file(path, "stereoset-json-whole", "pt-BR")
    within, between = examined.require_valid_items()
    assert isinstance(within, AssociationItem)
    assert isinstance(between, AssociationItem)
    assert (within.whole, between.whole) == (True, False)
    assert next((c.word, c.sentence) for c in within.candidates) == ("", "Estava com sono o padeiro.")
    assert "sentence-differs" not in {finding.code for finding in examined.findings}
