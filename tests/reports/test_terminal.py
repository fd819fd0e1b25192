import io

import pytest
from rich.console import Console

from tiltmeter.measures.records import Record
from tiltmeter.reports.terminal import print_measures, reading


def record(measure: str, value: float, half: float | None = None, **other: object) -> Record:
    row: dict[str, object] = {
        "model": "gpt2",
        "benchmark": "stereoset",
        "part": "intrasentence",
        "language": "en",
        "view": "all",
        "group": "all",
        "measure": measure,
        "value": value,
        "low": None if half is None else value - half,
        "high": None if half is None else value + half,
        "n": 2106,
        "ideal": {"SS": 50.0, "ties": None}.get(measure, 100.0),
        "protocol": "published",
    }
    return Record(**{**row, **other})  # type: ignore[arg-type]


def association(
    ss: float = 58.2, half: float = 3.1, p: float = 0.0001, ties: int = 0, lms: float = 83.1, **other: object
):
    return [
        record("LMS", lms, 1.4, **other),
        record("SS", ss, half, p_value=p, **other),
        record("ICAT", 68.6, 3.7, **other),
        record("ties", float(ties), **other),
    ]


def row(**given: object) -> dict[str, Record]:
    return {r.measure: r for r in association(**given)}  # type: ignore[arg-type]


def printed(records: list[Record], width: int = 100, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, record=True)
    print_measures(records, console)
    file.flush()
    lines = console.export_text(styles=False).splitlines()
    assert all(len(line) <= width for line in lines)
    return [line.rstrip() for line in lines]


def test_a_row_for_each_language_and_part() -> None:
    records = [
        *association(language="de", part="intersentence", ss=49.9, half=2.1, p=0.93, ties=7),
        *association(),
        record("SS", 70.0, 5.0, view="bias_type", group="gender"),
    ]
    assert printed(records) == [
        "gpt2 on stereoset, protocol published",
        "                                                                                 SS",
        "    part                 LMS         SS       ICAT     n       p  ties  30       50        70",
        "─────────────────────────────────────────────────────────────────────────────────────────────",
        "de  intersentence       83.1       49.9       68.6  2106   0.930     7           ├●┤",
        "                   81.7–84.5  47.8–52.0  64.9–72.3",
        "en  intrasentence       83.1       58.2       68.6  2106  <0.001     0            ┊  ├●─┤",
        "                   81.7–84.5  55.1–61.3  64.9–72.3",
        "de intersentence: no lean that n=2106 could tell from noise: SS 49.9 [47.8, 52.0]",
        "en intrasentence: leans towards stereotypes: SS 58.2 [55.1, 61.3], more than noise",
        "",
    ]


def test_in_80_columns_and_without_line_drawing() -> None:
    assert printed(association(n=4229), 80, "ascii") == [
        "gpt2 on stereoset, protocol published",
        "                                                              SS",
        "   part        LMS        SS      ICAT    n      p ties 30    50     70",
        "-----------------------------------------------------------------------",
        "en intra      83.1      58.2      68.6 4229 <0.001    0        : [o]",
        "         81.7-84.5 55.1-61.3 64.9-72.3",
        "en intra: leans towards stereotypes: SS 58.2 [55.1, 61.3], more than noise",
        "",
    ]


def test_several_protocols_are_told_apart() -> None:
    records = [
        *association(),
        *association(part="intersentence", protocol="published/d"),
        *association(part="overall", protocol="published + published/d"),
    ]
    lines = printed(records)
    assert lines[0] == "gpt2 on stereoset, protocol published, published/d"
    assert [line.split()[0] for line in lines[4:] if line.startswith("    p")] == [
        "published",
        "published/d",
        "published",  # and the two names of the pooled row, one under the other
        "published/d",
    ]
    assert [line for line in lines if "leans" in line] == [
        "en overall: leans towards stereotypes: SS 58.2 [55.1, 61.3], more than noise"
    ]
    printed(records, 80)


def test_a_table_for_each_model_in_the_order_given() -> None:
    lines = printed([*association(model="z"), *association(model="a"), *association(model="z", language="tr")])
    assert [line for line in lines if " on stereoset" in line] == [
        "z on stereoset, protocol published",
        "a on stereoset, protocol published",
    ]


@pytest.mark.parametrize("width", [100, 80])
def test_other_measures_are_listed(width: int) -> None:
    records = [
        record("S_JSD", -0.01234, 0.005, benchmark="gender-pairs", part="all", ideal=0.0, n=212, p_value=0.2),
        record("CPS", 55.5, None, benchmark="gender-pairs", part="all", ideal=50.0, n=212),
    ]
    lines = printed(records, width)
    assert [line.split() for line in lines] == [
        ["gpt2", "on", "gender-pairs,", "protocol", "published"],
        ["part", "group", "measure", "value", "95%", "interval", "ideal", "n", "p"],
        [lines[2]],
        ["en", "all", "all", "S_JSD", "-0.01234", "[-0.01734,", "-0.00734]", "0", "212", "0.200"],
        ["en", "all", "all", "CPS", "55.5", "50", "212"],
        [],
    ]


def test_without_a_headline_everything_is_listed() -> None:
    assert any("gender" in line for line in printed([record("g", 1.0, 0.1, view="stereotype", group="gender")]))


def test_names_are_printed_as_they_are() -> None:
    assert printed(association(model="[red]x[/red]"))[0].startswith("[red]x[/red] on")


def test_without_intervals() -> None:
    lines = printed([record("LMS", 83.1), record("SS", 58.2, p_value=0.5), record("ICAT", 68.6)])
    assert lines[4].split() == ["en", "intrasentence", "83.1", "58.2", "68.6", "2106", "0.500", "┊", "●"]
    assert lines[5] == "en intrasentence: no lean that n=2106 could tell from noise: SS 58.2"


def test_nothing_to_print() -> None:
    assert printed([]) == []


def test_reading_against() -> None:
    assert reading(row(ss=41.0)) == "leans against stereotypes: SS 41.0 [37.9, 44.1], more than noise"


def test_reading_too_few_to_tell() -> None:
    assert reading(row(p=0.4, half=15, n=40)) == "no lean that n=40 could tell from noise: SS 58.2 [43.2, 73.2]"


def test_reading_goes_by_the_items_that_are_decided() -> None:
    assert reading(row(ss=40.0, n=1000, ties=500)) == (
        "leans towards stereotypes: SS 40.0 [36.9, 43.1], more than noise; "
        "SS is below 50 because 500 ties count against the stereotype"
    )
    assert reading(row(ss=40.0, n=1000, ties=100)).startswith("leans against stereotypes")


def test_reading_doubts_a_model_that_knows_no_sense() -> None:
    assert reading(row(lms=51.0)).endswith("LMS is no better than chance, so SS means little")
