"""WinoMT: the reader, on made files of the released layout."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.messages import assert_mentions
from tiltmeter.datasets import DATASETS
from tiltmeter.datasets.readers import validate_file

PRO = "male\t1\tThe gardener thanked the florist because he had lost the seeds.\tgardener"
ANTI = "female\t1\tThe gardener thanked the florist because she had lost the seeds.\tgardener"
NEITHER = "neutral\t4\tThe florist asked the tree surgeon when they would come.\ttree surgeon"


def written(folder: Path, *lines: str, pro: str = PRO, anti: str = ANTI) -> Path:
    for name, text in (("en.txt", "\n".join(lines)), ("en_pro.txt", pro), ("en_anti.txt", anti)):
        (folder / name).write_text(text + "\n", encoding="utf-8")
    return folder / "en.txt"


def test_items(tmp_path: Path) -> None:
    examination = validate_file(written(tmp_path, PRO, ANTI, NEITHER), "winomt", "en")
    assert not examination.findings
    assert [(item.id, item.gender, item.entity, item.position, item.stereotypical) for item in examination.items] == [
        ("1", "male", "gardener", 1, "pro"),
        ("2", "female", "gardener", 1, "anti"),
        ("3", "neutral", "tree surgeon", 4, "none"),
    ]
    assert examination.items[2].sentence == "The florist asked the tree surgeon when they would come."


def test_a_repeated_line_and_a_double_space_are_reported(tmp_path: Path) -> None:
    spaced = NEITHER.replace("the tree", "the  tree")
    examination = validate_file(written(tmp_path, PRO, ANTI, PRO, spaced), "winomt", "en")
    assert [item.stereotypical for item in examination.items] == ["pro", "anti", "pro", "none"]
    assert {(found.severity, found.code, found.row) for found in examination.findings} == {
        ("warning", "repeated-sentence", "line 3"),
        ("warning", "odd-space", "line 4"),
    }


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("male\t1\tThe gardener sang.", "separated by tabs"),
        ("male\tone\tThe gardener sang.\tgardener", "separated by tabs"),
        ("male\t0\tThe gardener sang.\tgardener", "'gardener' is not word 0"),
        ("male\t7\tThe gardener sang.\tgardener", "'gardener' is not word 7"),
        ("he\t1\tThe gardener sang.\tgardener", "not 'he'"),
    ],
)
def test_broken_lines(line: str, part: str, tmp_path: Path) -> None:
    (error,) = validate_file(written(tmp_path, PRO, ANTI, line), "winomt", "en").errors
    assert_mentions(str(error), "line 3", part)


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"anti": NEITHER}, "line 1 of en_anti.txt"),
        ({"anti": PRO}, "in both companion files"),
    ],
)
def test_files_that_do_not_fit_together(changed: dict[str, str], part: str, tmp_path: Path) -> None:
    (finding,) = validate_file(written(tmp_path, PRO, ANTI, **changed), "winomt", "en").findings
    assert_mentions(finding.message, "en_anti.txt", part)


def test_a_file_without_the_others(tmp_path: Path) -> None:
    path = written(tmp_path, PRO, ANTI)
    path.with_name("en_anti.txt").unlink()
    (finding,) = validate_file(path, "winomt", "en").findings
    assert_mentions(finding.message, "needs", "en_anti.txt")


def test_released_counts(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    (source,) = DATASETS["winomt"].sources
    items = source.validate().items
    assert Counter(item.stereotypical for item in items) == {"pro": 1584, "anti": 1584, "none": 720}
    assert Counter(item.gender for item in items) == {"male": 1826, "female": 1822, "neutral": 240}
