"""Publishing: valid JSONL under an allowed licence, with a data card and a changelog; status and figure."""

import json
from pathlib import Path

import pytest

from perf.breaking_engine import BreakingEngine
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.datasets import load_spec, parse_spec
from tiltmeter.datasets.dataset_loader import validate_spec
from tiltmeter.errors import DataError, UsageError
from tiltmeter.making.licences import find_publishing_licence
from tiltmeter.making.project import Project, open_project
from tiltmeter.making.project_settings import write_settings
from tiltmeter.making.project_status import StageCounts, compute_status
from tiltmeter.making.publication import publish_project
from tiltmeter.making.repair import STEPS
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.review.review import Review
from tiltmeter.making.stage_figure import plot_stages
from tiltmeter.making.translation_step import translate_project


@pytest.fixture
def translated(project: Project) -> Project:
    translate_project(project, BreakingEngine())
    return project


def test_an_edition(translated: Project, tmp_path: Path) -> None:
    edition = publish_project(translated, tmp_path / "out", licence="CC-BY-4.0")
    assert (edition.number, edition.is_new, edition.facts["items"]) == (1, True, 6)
    (checked,) = validate_spec(parse_spec(f"{tmp_path}/out/"))
    assert (len(checked.items), checked.errors) == (6, [])
    items = load_spec(parse_spec(f"{tmp_path}/out/intrasentence"))
    assert [item.id for item in items] == ["i0", "i1", "i2", "i3"]
    assert {item.language for item in items} == {"es"}
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert_mentions(card, "license: cc-by-4.0", "language: [es]", "Nobody has reviewed", "Canary: `tiltmeter-")
    assert_mentions(card, "| source items | 6 |", "| underscores | kept | 4 |")


def test_nothing_changed_nothing_new(translated: Project, tmp_path: Path) -> None:
    publish_project(translated, tmp_path / "out", licence="MIT")
    again = publish_project(translated, tmp_path / "other", licence="MIT")
    assert (again.number, again.is_new) == (1, False)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"items.jsonl", "README.md", "CHANGELOG.md", "croissant.json", "edition.json"}
    assert {path.name: path.read_bytes() for path in (tmp_path / "other").iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()
    }


def test_the_changelog(translated: Project, tmp_path: Path) -> None:
    publish_project(translated, tmp_path / "out", licence="MIT")
    with translated.store.begin_transaction():
        translated.store.drop_item("i3", step="review", by="Ana", why="not a stereotype")
        translated.store.set_text("i0", "text", "target_term", "cocinera", step="review", by="Ana", why="")
    edition = publish_project(translated, tmp_path / "out", licence="MIT", open_items="keep")
    assert edition.number == 2
    assert edition.facts["changes"] == {
        "added": [],
        "removed": {"i3": "not a stereotype"},
        "changed": {"i0": ["target_term"]},
    }
    changelog = (tmp_path / "out" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert changelog.index("## Edition 2") < changelog.index("## Edition 1")
    assert "- `i3`: not a stereotype" in changelog
    assert "- `i0`: target_term" in changelog
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| i3 | dropped: not a stereotype |" in card
    assert "target-not-in-context" in card  # i0 is published, and open


def test_open_items(project: Project, tmp_path: Path) -> None:
    translate_project(project, BreakingEngine(way="dropped"), limit=5)
    with raises_mentioning(UsageError, "4 items", "1 are not translated", "--open keep", "--open leave-out"):
        publish_project(project, tmp_path / "out", licence="MIT")
    kept = publish_project(project, tmp_path / "out", licence="MIT", open_items="keep")
    assert (kept.facts["items"], kept.facts["left_out"]) == (5, {"n1": "not translated"})
    without = publish_project(project, tmp_path / "out", licence="MIT", open_items="leave-out")
    assert without.facts["items"] == 1


def test_an_invalid_item_is_never_published(translated: Project, tmp_path: Path) -> None:
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", "sin hueco", step="review", by="Ana", why="")
    edition = publish_project(translated, tmp_path / "out", licence="MIT", open_items="keep")
    assert_mentions(edition.facts["left_out"]["i0"], "invalid", "BLANK")
    assert validate_spec(parse_spec(f"{tmp_path}/out/"))[0].errors == []


def test_accepted_findings_carry_name_and_reason(translated: Project, tmp_path: Path) -> None:
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "target_term", "cocinera", step="review", by="Ana", why="")
    assert compute_status(translated).open_items == 1
    with translated.store.begin_transaction():
        translated.store.accept_problem("i0", "target-not-in-context", by="Ana", why="the feminine is meant")
    publish_project(translated, tmp_path / "out", licence="MIT")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| i0 | target-not-in-context | Ana | the feminine is meant |" in card


@pytest.mark.parametrize(
    ("source", "wanted", "licence"),
    [
        ("CC-BY-SA-4.0", "", "CC-BY-SA-4.0"),
        ("not stated; derived from StereoSet, which is CC-BY-SA-4.0", "CC-BY-SA-4.0", "CC-BY-SA-4.0"),
        ("Apache-2.0", "", "Apache-2.0"),
        ("Apache-2.0", "CC-BY-4.0", "CC-BY-4.0"),
        ("CC-BY-NC-4.0", "", "CC-BY-NC-4.0"),
        ("", "MIT", "MIT"),
    ],
)
def test_allowed_licences(source: str, wanted: str, licence: str) -> None:
    assert find_publishing_licence(source, wanted) == licence


@pytest.mark.parametrize(
    ("source", "wanted", "parts"),
    [
        ("", "", ["states no licence", "--licence"]),
        ("ask the authors", "", ["unknown licence 'ask the authors'", "--licence"]),
        ("CC-BY-SA-4.0", "MIT", ["CC-BY-SA-4.0", "under MIT"]),
        ("CC-BY-ND-4.0", "CC-BY-ND-4.0", ["'CC-BY-ND-4.0'", "does not allow"]),
        ("CC-BY-NC-4.0", "MIT", ["CC-BY-NC-4.0", "commercial use", "MIT"]),
    ],
)
def test_refused_licences(source: str, wanted: str, parts: list[str]) -> None:
    with raises_mentioning(UsageError, *parts):
        find_publishing_licence(source, wanted)


def test_status_by_stage(project: Project) -> None:
    translate_project(project, BreakingEngine(way="dropped"))
    repair_project(project)
    state = compute_status(project)
    assert state.items == {"repaired": 6}
    main = [stage.name for stage in state.stages if not stage.is_detail]
    assert main == ["after translate", "after repair", "now"]
    assert [stage.name for stage in state.stages if stage.is_detail] == [f"repair: {step}" for step in STEPS]
    assert state.stages[0].count_open_items("intrasentence", "blank-restored") == 4
    assert state.count_by_subject() == {"cook": 1, "gardener": 1, "nurse": 1, "singer": 1}
    (panel,) = plot_stages(state.stages).panels
    assert panel.title == "intrasentence"
    assert json.dumps(state.to_json())


def test_a_second_repair_adds_stages(project: Project) -> None:
    translate_project(project, BreakingEngine(way="dropped"))
    repair_project(project, steps=["spacing"])
    review = Review(project)
    review.add_reviewer("Ana")
    review.decide_on_item("Ana", "i0", "drop")
    repair_project(project, steps=["spacing", "target"])
    stages = compute_status(project).stages
    assert [stage.name for stage in stages] == [
        "after translate",
        "repair: spacing",
        "after repair",
        "after review",
        "repair 2: spacing",
        "repair 2: target",
        "after repair 2",
        "now",
    ]
    assert [stage.count_open_items("intrasentence", "blank-restored") for stage in stages] == [4, 4, 4, 3, 3, 3, 3, 3]


def test_the_figure_leaves_out_steps_that_changed_nothing() -> None:
    key = ("", "blank-restored", "cook")
    stages = [
        StageCounts("after translate", {key: 3}),
        StageCounts("repair: spacing", {key: 3}, is_detail=True),
        StageCounts("repair: target", {key: 2}, is_detail=True),
        StageCounts("after repair", {key: 2}),
        StageCounts("after review", {key: 2}),
        StageCounts("now", {key: 1}),
    ]
    (panel,) = plot_stages(stages).panels
    drawn = json.dumps(panel.chart.to_dict())
    shown = [stage.name for stage in stages if f'"stage": "{stage.name}"' in drawn]
    assert shown == ["after translate", "repair: target", "after review", "now"]


def test_the_card_has_the_precision_of_rules(translated: Project, tmp_path: Path) -> None:
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", "el  cocinero BLANK .", step="translate", by="x", why="x")
    repair_project(translated)
    publish_project(translated, tmp_path / "out", licence="MIT", open_items="keep")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| spaces | 0 | 1 | 0 | 1 of 1 right | 2026-11-19 |" in card
    assert "| space-before-punctuation | 1 | 0 | 0 | 100 of 100 right | 2026-11-19 |" in card


def test_guidelines_are_in_the_card(translated: Project, tmp_path: Path) -> None:
    from dataclasses import replace

    (translated.folder / "guidelines.md").write_text("Use only listed names.", encoding="utf-8")
    write_settings(translated.folder, replace(translated.settings, guidelines="guidelines.md", licence="MIT"))
    with open_project(translated.folder) as again:
        publish_project(again, tmp_path / "out")
    assert "Use only listed names." in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_the_commands(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tiltmeter.translators.open_translator", lambda *_, **__: BreakingEngine(way="dropped"))
    folder = str(project.folder)
    assert command(monkeypatch, "make", "translate", folder, "--dry-run") == 0
    assert "31 texts" in capsys.readouterr().out
    assert command(monkeypatch, "make", "translate", folder) == 0
    assert "4 blanks restored" in capsys.readouterr().out
    assert command(monkeypatch, "make", "repair", folder, "--no-align") == 0
    assert command(monkeypatch, "make", "status", folder) == 0
    assert "open: 4 items" in capsys.readouterr().out
    assert command(monkeypatch, "make", "status", folder, "--item", "i0") == 0
    assert "blank-restored" in capsys.readouterr().out
    review, out = str(tmp_path / "review.csv"), str(tmp_path / "out")
    assert command(monkeypatch, "make", "export", folder, "--out", review) == 0
    text = Path(review).read_text(encoding="utf-8")
    assert command(monkeypatch, "make", "import", folder, review, "--by", "Ana") == 0
    assert "4 without a decision" in capsys.readouterr().out
    Path(review).write_text(text.replace("The cook", "A cook").replace(",,,\n", ",,accept,\n"), encoding="utf-8")
    assert command(monkeypatch, "make", "import", folder, review, "--by", "Ana") == 1
    assert_mentions(capsys.readouterr().out, "row 3, item i0, context:", "'The cook")
    assert command(monkeypatch, "make", "publish", folder, "--out", out) == 2
    assert command(monkeypatch, "make", "publish", folder, "--out", out, "--licence", "MIT", "--open", "keep") == 0
    assert "6 items, 0 left out, MIT, edition 1" in capsys.readouterr().out
    assert command(monkeypatch, "data", "validate", f"{out}/") == 0


def test_a_damaged_copy_of_the_last_edition_is_not_copied_out(translated: Project, tmp_path: Path) -> None:
    publish_project(translated, tmp_path / "out", licence="MIT")
    published = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    kept = translated.folder / "editions" / "1"
    for name in ("items.jsonl", "README.md", "CHANGELOG.md"):
        (kept / name).write_bytes(published[name].replace(b"e", b"f", 1))
    publish_project(translated, tmp_path / "again", licence="MIT")
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == published


@pytest.mark.parametrize("content", ["", "{", "[]", "[" * 100_000, "{}", '{"edition": "1"}'])
def test_an_edition_that_cannot_be_read_is_named(content: str, translated: Project, tmp_path: Path) -> None:
    publish_project(translated, tmp_path / "out", licence="MIT")
    (translated.folder / "editions" / "1" / "edition.json").write_text(content)
    (translated.folder / "editions" / "1-old").mkdir()
    with raises_mentioning(DataError, "editions/1/edition.json"):
        publish_project(translated, tmp_path / "out", licence="MIT")


def test_changes_are_not_computed_from_damaged_items(translated: Project, tmp_path: Path) -> None:
    publish_project(translated, tmp_path / "out", licence="MIT")
    path = translated.folder / "editions" / "1" / "items.jsonl"
    path.write_bytes(path.read_bytes().replace(b"e", b"f", 1))
    with raises_mentioning(DataError, str(path), "restore"):
        publish_project(translated, tmp_path / "out", licence="CC-BY-4.0")
