"""The Croissant description of an edition, as mlcroissant validates and reads it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tiltmeter.making.project import Project
from tiltmeter.making.publication import publish_project
from tiltmeter.making.review.review import Review
from tiltmeter.making.writing.template_items import TemplateOptions, create_template_project

mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed: pip install mlcroissant")


def published(project: Project, out: Path) -> Any:
    publish_project(project, out, open_items="keep", licence="CC-BY-SA-4.0")
    return mlcroissant.Dataset(out / "croissant.json")


def test_a_translated_set_is_valid_and_its_records_are_the_items(translated: Project, tmp_path: Path) -> None:
    review = Review(translated)
    review.add_reviewer("Ana")
    review.add_reviewer("Eva")
    for name in ("Ana", "Eva"):
        review.decide_on_item(name, "i0", "drop")
    found = published(translated, tmp_path / "es")
    assert [*found.metadata.issues.errors, *found.metadata.issues.warnings] == []
    lines = (tmp_path / "es" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    records = list(found.records("items"))
    assert [record["items/id"].decode() for record in records] == [json.loads(line)["id"] for line in lines]
    assert {"items/context", "items/target_term", "items/candidates-stereotype"} <= records[0].keys()
    content = json.loads((tmp_path / "es" / "croissant.json").read_text(encoding="utf-8"))
    assert content["rai:annotationsPerItem"].startswith("none: ")
    assert content["rai:machineAnnotationTools"] == "apertium:eng-xyz"
    assert "read by nobody" in content["rai:dataLimitations"]


def test_a_set_from_a_table(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("identity,attribute\nBelgier,ruhig\nNorweger,laut\n", encoding="utf-8")
    with create_template_project(tmp_path / "de", table, language="de", options=TemplateOptions()) as project:
        found = published(project, tmp_path / "out")
    assert [*found.metadata.issues.errors, *found.metadata.issues.warnings] == []
    content = json.loads((tmp_path / "out" / "croissant.json").read_text(encoding="utf-8"))
    assert "table of stereotypes" in content["rai:dataCollection"]
    assert content["rai:annotationsPerItem"] == "none: 2 (100%), one: 0 (0%), several: 0 (0%)"
