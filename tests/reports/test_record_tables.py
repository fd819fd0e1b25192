import csv
import io
import json
from pathlib import Path

from typer.testing import CliRunner

from tests.reports import made
from tests.reports.made import association_records as association
from tests.reports.made import record
from tests.support.messages import assert_mentions
from tiltmeter.cli import app
from tiltmeter.errors import UsageError
from tiltmeter.measures.records import to_dicts
from tiltmeter.measures.verdict_rule import assign_verdicts
from tiltmeter.reports.record_tables import format_records_csv, format_records_json, format_records_latex

RECORDS = assign_verdicts(
    [*association(part="overall", model="a_b"), record("SS", 60.0, 5.0, view="bias_type", group="gender", model="a_b")]
)


def test_json_has_every_number() -> None:
    assert json.loads(format_records_json(RECORDS)) == to_dicts(RECORDS)


def test_csv_has_every_number_and_nothing_for_what_is_not_known() -> None:
    rows = list(csv.DictReader(io.StringIO(format_records_csv(RECORDS))))
    assert len(rows) == len(RECORDS)
    assert (rows[0]["measure"], rows[0]["value"], rows[0]["p_value"]) == ("LMS", "83.1", "")
    assert_mentions(rows[1]["verdict"], "significant", "towards stereotypes", "5 points")
    assert float(rows[1]["p_adjusted"]) < 0.001


def test_json_has_the_verdict_in_words_and_in_parts() -> None:
    ss = json.loads(format_records_json(RECORDS))[1]
    assert_mentions(ss["verdict"].pop("words"), "significant", "towards stereotypes", "5 points")
    assert ss["verdict"] == {"kind": "significant", "side": "towards", "size": "beyond", "margin": "5 points"}
    assert (ss["margin"], ss["tests"], ss["clusters"]) == (5.0, 1, 79)


def test_latex_is_a_table_for_each_benchmark() -> None:
    lines = format_records_latex([*RECORDS, *assign_verdicts([record("g_s", 1.4, 0.1, benchmark="gest")])]).splitlines()
    assert lines.count(r"\toprule") == 2
    assert lines[4] == r"model & language & part & LMS & SS & ICAT & $n$ & $p$ \\"
    assert lines[6].startswith(r"a\_b & English & overall & $83.1$ {\footnotesize $[81.7, 84.5]$} & $58.2$")
    assert lines[6].endswith(r"& 2106 & $<0.001$ \\")
    assert any(line.startswith(r"\caption{stereoset, protocol published,") for line in lines)


def test_show_prints_one_form_at_a_time(tmp_path: Path) -> None:
    made.association(["ada"], "starter:en", intervals=False).save(tmp_path)
    runner = CliRunner()
    assert json.loads(runner.invoke(app, ["show", str(tmp_path), "--json"]).stdout)[0]["model"] == "ada"
    assert runner.invoke(app, ["show", str(tmp_path), "--csv"]).stdout.startswith("model,benchmark,")
    assert runner.invoke(app, ["show", str(tmp_path), "--latex"]).stdout.startswith(r"\begin{table}")
    assert "ada on starter" in runner.invoke(app, ["show", str(tmp_path)]).stdout
    both = runner.invoke(app, ["show", str(tmp_path), "--csv", "--json"])
    assert isinstance(both.exception, UsageError)
