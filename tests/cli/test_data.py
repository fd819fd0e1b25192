"""The command `tiltmeter data`."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.cli.data import app
from tiltmeter.datasets import DATASETS, load, load_file
from tiltmeter.errors import DataError, DownloadError, TiltmeterError, UsageError
from tiltmeter.forms.pairs import PairItem

GEST = "sentence,stereotype\nI sang.,1\nI swam.,16\n"


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILTMETER_MIRROR", raising=False)


def tiltmeter(*arguments: object) -> Result:
    """Run a command and raise its errors, as in `tiltmeter.cli.main`."""
    result = CliRunner(env={"COLUMNS": "1000"}).invoke(app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_list_names_every_data_set() -> None:
    output = tiltmeter("list").output
    for name, data in DATASETS.items():
        assert f"\n{name} " in f"\n{output}"
        assert data.description in output
    assert "gest · en · 64 items · Apache-2.0 · 0.1 MB · local" in output


def test_item_counts_that_are_known_for_some_languages_only() -> None:
    data = DATASETS["mt-geneval"]
    assert data.item_count is None
    lines = tiltmeter("list").output.splitlines()
    facts = lines[next(at for at, line in enumerate(lines) if line.startswith("mt-geneval ")) + 1]
    assert f" · {sum(data.items.values()):,} items in {len(data.items)} languages · " in facts
    pairs = lines[next(at for at, line in enumerate(lines) if line.startswith("gest-pairs ")) + 1]
    assert "items" not in pairs  # known for no language


def test_list_by_language_and_form() -> None:
    listed = json.loads(tiltmeter("list", "--language", "tr", "--form", "association", "--json").output)
    assert {"starter", "stereoset"} <= {data["name"] for data in listed}
    assert all("tr" in data["languages"] and data["form"] == "association" for data in listed)
    (starter,) = (data for data in listed if data["name"] == "starter")
    assert (starter["items"], starter["files_here"], starter["licence"]) == (80, 10, "Apache-2.0")
    assert len(listed) < len(DATASETS)


def test_the_starter_sets_have_the_item_counts_of_the_catalogue() -> None:
    for name in ("starter", "starter-pairs", "starter-gest"):
        data = DATASETS[name]
        assert {code: len(load(name, language=code)) for code in data.languages} == dict(data.items)


def test_list_describes_one_data_set() -> None:
    output = tiltmeter("list", "stereoset").output
    data = DATASETS["stereoset"]
    for text in (data.licence, data.citation, data.warning, *data.limits, "df_intrasentence_de.pkl"):
        assert text in output


def test_get_prints_where_the_files_are() -> None:
    lines = tiltmeter("get", "starter/intersentence:de,fr").stdout.splitlines()
    assert [Path(line).name for line in lines] == ["intersentence.de.jsonl", "intersentence.fr.jsonl"]
    assert all(Path(line).is_file() for line in lines)


def test_get_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    with raises_mentioning(DownloadError, str(tmp_path), "kinit-sk/gest"):
        tiltmeter("get", "gest")


def test_get_a_local_file() -> None:
    with raises_mentioning(UsageError, "mine.jsonl", "nothing to download"):
        tiltmeter("get", "mine.jsonl")


def test_show_warns_first_and_then_shows() -> None:
    result = tiltmeter("show", "starter/intrasentence:fr", "--limit", "2")
    assert result.stderr.startswith("Content warning: ")
    assert result.stdout.count("intrasentence · fr · ") == 2
    assert result.stdout.count("anti-stereotype ") == 2


@pytest.mark.parametrize("name", ["starter-pairs", "starter-gest"])
def test_show_the_other_forms(name: str) -> None:
    item = load(name, None, "en")[0]
    output = tiltmeter("show", f"{name}:en", "--limit", "1").stdout
    assert item.id in output
    assert (item.more if isinstance(item, PairItem) else item.sentence) in output


def test_show_one_item_in_all_languages() -> None:
    id_ = load("starter", "intrasentence", "en")[7].id
    output = tiltmeter("show", "starter", "--item", id_).stdout
    assert output.count(id_) == 5


def test_show_an_unknown_item() -> None:
    with raises_mentioning(UsageError, "starter", "'nothing'"):
        tiltmeter("show", "starter", "--item", "nothing")


def test_show_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    tiltmeter("convert", "starter-gest", path)
    result = tiltmeter("show", path, "--limit", "1")
    assert result.stderr == ""
    assert "stereotype 1" in result.stdout


def test_validate_a_valid_data_set() -> None:
    result = tiltmeter("validate", "starter:en")
    assert result.exit_code == 0
    assert "40 items, 0 errors, 0 warnings" in result.stdout


@pytest.fixture
def file_with_warnings(tmp_path: Path) -> Path:
    """A file with four items, the last three with leading or trailing space."""
    path = tmp_path / "mine.jsonl"
    ends = ["", " ", " ", " "]
    lines = [
        {"id": f"g{n}", "language": "en", "stereotype": 1, "sentence": f"I sang {n} songs.{end}"}
        for n, end in enumerate(ends)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_validate_counts_warnings_and_lets_them_pass(file_with_warnings: Path) -> None:
    result = tiltmeter("validate", file_with_warnings)
    assert result.exit_code == 0
    assert "4 items, 0 errors, 3 warnings" in result.stdout
    assert_mentions(result.stdout, "line 2, sentence, item g1", "outer-space")


def test_validate_shows_three_examples_and_no_more(file_with_warnings: Path) -> None:
    with file_with_warnings.open("a", encoding="utf-8") as file:
        file.write('\n{"id": "g9", "language": "en", "stereotype": 1, "sentence": " I hummed."}')
    assert tiltmeter("validate", file_with_warnings).stdout.count(", sentence, item g") == 3


def test_validate_strict(file_with_warnings: Path) -> None:
    assert tiltmeter("validate", file_with_warnings, "--strict").exit_code == 2


def test_validate_errors(file_with_warnings: Path) -> None:
    with file_with_warnings.open("a", encoding="utf-8") as file:
        file.write("\n{")
    result = tiltmeter("validate", file_with_warnings)
    assert result.exit_code == 2
    assert "bad-json" in result.stdout
    assert result.stdout.index("error ") < result.stdout.index("warning ")


def test_validate_as_json(file_with_warnings: Path) -> None:
    [file] = json.loads(tiltmeter("validate", file_with_warnings, "--json").stdout)
    assert (file["file"], file["items"]) == (str(file_with_warnings), 4)
    finding = file["findings"][0]
    assert finding.pop("message")
    assert finding == {
        "severity": "warning",
        "code": "outer-space",
        "file": str(file_with_warnings),
        "row": "line 2",
        "field": "sentence",
        "item": "g1",
    }


def test_validate_an_upstream_format(tmp_path: Path) -> None:
    path = tmp_path / "gest.csv"
    path.write_text(GEST, encoding="utf-8")
    assert tiltmeter("validate", path, "--from", "gest-csv", "--language", "en").exit_code == 0


def test_convert_a_data_set(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = tiltmeter("convert", "starter:de", out)
    assert result.stderr == f"80 items written to {out}\n"
    assert load_file(out) == load("starter", None, "de")


def test_convert_an_upstream_format(tmp_path: Path) -> None:
    source, out = tmp_path / "gest.csv", tmp_path / "out.jsonl"
    source.write_text(GEST, encoding="utf-8")
    tiltmeter("convert", source, out, "--from", "gest-csv", "--language", "en")
    assert [item.id for item in load_file(out)] == ["0", "1"]


def test_convert_replaces_a_file_only_with_force(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious", encoding="utf-8")
    with raises_mentioning(UsageError, str(out), "--force"):
        tiltmeter("convert", "starter-gest", out)
    assert out.read_text(encoding="utf-8") == "precious"
    tiltmeter("convert", "starter-gest", out, "--force")
    assert len(load_file(out)) == 64


def test_convert_writes_nothing_if_the_source_is_bad(tmp_path: Path) -> None:
    source, out = tmp_path / "gest.csv", tmp_path / "out.jsonl"
    source.write_text("sentence,stereotype\nI sang.,99\n", encoding="utf-8")
    with raises_mentioning(DataError, "line 2, stereotype"):
        tiltmeter("convert", source, out, "--from", "gest-csv", "--language", "en")
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["get", "sterioset"], ["did you mean stereoset"]),
        (["get", "stereoset:xx"], ["stereoset", "'xx'"]),
        (["get", "stereoset/inner"], ["stereoset", "'inner'"]),
        (["get", "stereoset:"], ["stereoset:"]),
        (["list", "nothing"], ["no data set 'nothing'"]),
        (["list", "--language", "plx"], ["did you mean pl"]),
        (["list", "--form", "pair"], ["did you mean pairs"]),
        (["show", "crows-pairs/intrasentence"], ["crows-pairs", "no parts"]),
        (["validate", "./nowhere.csv"], ["nowhere.csv", "cannot be read"]),
        (["validate", "{file}"], ["gest.csv", "no column for the language"]),
        (["convert", "{file}", "{out}"], ["gest.csv", "no column for the language"]),
        (["validate", "{file}", "--from", "gest-csv"], ["--from needs", "--language"]),
        (["validate", "starter", "--language", "en"], ["--language is only for", "--from"]),
        (["convert", "starter", "{out}", "--language", "en"], ["--language is only for", "--from"]),
        (["validate", "{file}", "--from", "csv", "--language", "en"], ["--from csv"]),
        (["validate", "{out}", "--from", "gest-csv", "--language", "en"], ["out.jsonl", "cannot be read"]),
        (["validate", "{file}", "--from", "stereoset-json", "--language", "en"], None),
        (["show", "{out}"], ["out.jsonl", "cannot be read"]),
        (["convert", "starter", "{file}/out.jsonl"], ["is a file"]),
    ],
)
def test_bad_requests(arguments: list[str], parts: list[str] | None, tmp_path: Path) -> None:
    file = tmp_path / "gest.csv"
    file.write_text(GEST, encoding="utf-8")
    filled = [argument.format(file=file, out=tmp_path / "out.jsonl") for argument in arguments]
    if parts is None:
        assert tiltmeter(*filled).exit_code == 2
    else:
        with raises_mentioning(TiltmeterError, *parts):
            tiltmeter(*filled)


def test_a_pickle_is_converted_without_pandas(tmp_path: Path) -> None:
    source, out = tmp_path / "frame.pkl", tmp_path / "out.jsonl"
    row = {"id": "1", "target": "fornaio", "bias_type": "profession", "context": "Il fornaio viene."}
    for number, role in enumerate(("stereotype", "anti-stereotype", "unrelated"), start=1):
        row |= {
            f"c{number}_id": f"1-{number}",
            f"c{number}_gold_label": role,
            f"c{number}_sentence": f"Canta {number}.",
        }
    frame = pd.DataFrame([row], dtype=object)
    frame.columns = pd.Index(list(row), dtype=object)
    frame.to_pickle(source)
    program = "import sys; from tiltmeter.cli.data import app\ntry: app()\nfinally: print('pandas' in sys.modules)\n"
    command = [sys.executable, "-c", program, "convert", source, out, "--from", "stereoset-pickle", "--language", "it"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"
    assert [item.id for item in load_file(out)] == ["1"]


@pytest.mark.parametrize("command", ["list", "get", "show", "validate", "convert"])
def test_help_has_examples(command: str) -> None:
    output = tiltmeter(command, "--help").output
    assert f"tiltmeter data {command}" in output
