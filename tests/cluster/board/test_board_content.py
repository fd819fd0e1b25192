"""The files of a board, errors when writing it, and escaping of names."""

import base64
import csv
import json
import re
import shutil
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cluster.board.boards import HOSTILE, save
from tests.runs.made import association_scores, chosen_scores
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.cluster.board.board_content import build_card_url, make_board
from tiltmeter.cluster.board.site_files import write_board
from tiltmeter.cluster.board.site_pages import SHOWN_COLUMNS
from tiltmeter.errors import UsageError


class Links(HTMLParser):
    """The addresses and the elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.elements: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]


def test_all_pages_exist_and_their_links_work(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len([page for page in pages if page.parent.name == "models"]) == 6
    assert len([page for page in pages if page.parent.name == "benchmarks"]) == 3
    assert [page.parent.name for page in pages].count("trends") == 1
    for page in pages:
        if page.parent.name == "reports":
            continue
        links = Links(page.read_text(encoding="utf-8"))
        assert "img" not in links.elements
        for address in links.addresses:
            target = (page.parent / address.partition("#")[0]).resolve()
            assert address.startswith("#") or target.is_file(), (page, address)
            assert target.is_relative_to(site.resolve())


def test_pages_load_nothing_and_run_only_their_own_script(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if page.parent.name == "reports":
            assert text == "<p>The report.</p>"
            continue
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
        assert policy.startswith("default-src &#39;none&#39;; script-src ")
        assert "unsafe" not in policy
        assert HOSTILE not in text
        assert text.count("<script") == (2 if "sha256" in policy.partition("style-src")[0] else 0)


def test_folders_of_the_machine_are_not_shown(site: Path) -> None:
    for page in site.rglob("*"):
        assert page.is_dir() or b"/home/ada" not in page.read_bytes(), page


def test_the_downloads_contain_all_values(site: Path, runs: Path) -> None:
    content = json.loads((site / "board.json").read_text(encoding="utf-8"))
    with (site / "board.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    board = make_board([runs])
    numbers = content["numbers"]
    assert len(rows) == len(numbers) == sum(len(column.cells) for column in board.columns)
    assert [float(row["value"]) for row in rows] == [number["value"] for number in numbers]
    ranked = [number for number in numbers if number["rank_first"]]
    assert ranked
    assert all(1 <= one["rank_first"] <= one["rank_last"] <= one["models_ranked"] for one in ranked)
    assert {model["name"]: model["step"] for model in content["models"]}["series/c"] == 40


def test_cells_of_csv_are_not_formulas(tmp_path: Path) -> None:
    save(tmp_path / "runs" / "a", association_scores('=HYPERLINK("x")', n=20))
    write_board([tmp_path / "runs"], tmp_path / "site")
    assert (tmp_path / "site" / "board.csv").read_text(encoding="utf-8").splitlines()[1].startswith("\"'=HYPERLINK(")


def test_the_first_table_is_in_the_page(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    first = text[text.index("<table") : text.index("</table>")]
    assert first.count("<tr>") == 1 + 3
    assert first.count("<svg") == 3 * SHOWN_COLUMNS


def test_contradictory_values_have_no_distance_to_sort_by(tmp_path: Path) -> None:
    for name, ss in {"torn": {"intrasentence": 60.0, "intersentence": 40.0}, "a": 58.0}.items():
        save(tmp_path / "runs" / name, chosen_scores(name, ss, n=300))
    write_board([tmp_path / "runs"], tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    (packed,) = re.findall('id="packed">(.+?)</script>', page)
    content = json.loads(zlib.decompress(base64.b64decode(packed), wbits=47))
    models = [name for name, *_ in content["models"]]
    (cells,) = (c["cells"] for s in content["sections"] for c in s["columns"] if c["place"] == "stereoset")
    assert {models[cell[0]]: cell[9] for cell in cells} == {"torn": None, "a": 8.0}


def test_only_a_board_is_replaced(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    save(runs / "a", association_scores("a", n=20))
    out = tmp_path / "deep" / "site"
    write_board([runs], out)
    page = next((out / "models").iterdir())
    shutil.rmtree(runs / "a")
    save(runs / "b", association_scores("b", n=20))
    write_board([runs], out)
    assert not page.exists()
    assert not list(out.parent.glob("tiltmeter-*"))
    other = tmp_path / "other"
    other.mkdir()
    write_board([runs], other)  # an empty folder is accepted
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "board.json").write_text("{}", encoding="utf-8")
    with raises_mentioning(UsageError, str(tmp_path / "mine"), "not a board", "--out"):
        write_board([runs], tmp_path / "mine")
    with raises_mentioning(UsageError, str(runs), "contains the runs", "--out"):
        write_board([runs / "b"], runs)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["board.json"]


def test_other_files_in_the_folder_of_a_board_are_not_deleted(tmp_path: Path) -> None:
    save(tmp_path / "runs" / "a", association_scores("a", n=20))
    out = tmp_path / "site"
    write_board([tmp_path / "runs"], out)
    (out / "CNAME").write_text("example.org", encoding="utf-8")
    with raises_mentioning(UsageError, str(out), "CNAME", "--out"):
        write_board([tmp_path / "runs"], out)
    assert (out / "CNAME").is_file()


def test_the_target_of_a_symbolic_link_is_replaced(tmp_path: Path) -> None:
    save(tmp_path / "runs" / "a", association_scores("a", n=20))
    (tmp_path / "served").mkdir()
    (tmp_path / "site").symlink_to("served")
    for _ in range(2):
        write_board([tmp_path / "runs"], tmp_path / "site")
    assert (tmp_path / "site").is_symlink()
    assert (tmp_path / "served" / "index.html").is_file()


def test_a_failed_write_keeps_the_old_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "runs" / "a", association_scores("a", n=20))
    write_board([tmp_path / "runs"], tmp_path / "site")
    before = sorted(path.name for path in (tmp_path / "site").rglob("*"))
    monkeypatch.setattr("tiltmeter.cluster.board.site_files.format_board_json", lambda _board: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_board([tmp_path / "runs"], tmp_path / "site")
    assert sorted(path.name for path in (tmp_path / "site").rglob("*")) == before


def test_a_failed_move_keeps_the_old_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "runs" / "a", association_scores("a", n=20))
    write_board([tmp_path / "runs"], tmp_path / "site")
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if self.name == "site":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with raises_mentioning(UsageError, str(tmp_path / "site"), "No space left"):
        write_board([tmp_path / "runs"], tmp_path / "site")
    assert (tmp_path / "site" / "index.html").is_file()


def test_the_reference_is_a_name_of_the_run_or_of_the_board(runs: Path) -> None:
    for name in ("gpt-tiny", "/home/ada/models/gpt-tiny"):
        columns = make_board([runs], reference=name).columns
        causal = [column.reference for column in columns if column.key.kind == "causal"]
        assert set(causal) == {"gpt-tiny"}
    with raises_mentioning(UsageError, "'gpt-tin'", "mean gpt-tiny"):
        make_board([runs], reference="gpt-tin")


def test_attributes_of_models_without_a_run(runs: Path, tmp_path: Path) -> None:
    families = {model.view.name: model.view.family for model in make_board([runs]).models}
    assert families["series/a"] == "alpha"
    assert families["org/other"] == "bert"  # the type in the manifest
    path = tmp_path / "given.toml"
    path.write_text('[[models]]\nname = "org/other"\nattributes = { family = "x" }\n[[models]]\nname = "nobody"\n')
    board = make_board([runs], attributes=path)
    assert {model.view.name: model.view.family for model in board.models}["org/other"] == "x"
    assert_mentions("\n".join(board.notes), "given.toml", "nobody")


@pytest.mark.parametrize(
    ("name", "revision", "card"),
    [
        ("google-bert/bert-base", "a" * 40, "https://huggingface.co/google-bert/bert-base"),
        ("gpt2@main", "a" * 40, "https://huggingface.co/gpt2"),
        ("/models/gpt2", None, ""),
        ("models/gpt2", None, ""),
        ("embedded", "1.0.0", ""),
        ("a+b", "a" * 40, ""),
        ("javascript:alert(1)//x", "a" * 40, ""),
        ("a/b/c", "a" * 40, ""),
    ],
)
def test_only_models_of_the_hub_have_cards(name: str, revision: str | None, card: str) -> None:
    assert build_card_url(name, revision) == card


def test_the_command(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs" / "torn").mkdir(parents=True)
    (tmp_path / "runs" / "torn" / "manifest.json").write_text("{", encoding="utf-8")
    assert command(monkeypatch, "board", str(runs), str(tmp_path / "runs"), "--out", str(tmp_path / "site")) == 0
    assert_mentions(capsys.readouterr().err, f"{tmp_path.name}/runs/torn", "6 models")
    assert command(monkeypatch, "board", str(runs), "--out", str(runs.parent)) == 2
    assert_mentions(capsys.readouterr().err, str(runs.parent), "contains the runs")
