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
        record("wobble", -0.01234, 0.005, benchmark="gender-pairs", part="all", ideal=0.0, n=212, p_value=0.2),
        record("wit", 55.5, None, benchmark="gender-pairs", part="all", ideal=50.0, n=212),
    ]
    lines = printed(records, width)
    assert [line.split() for line in lines] == [
        ["gpt2", "on", "gender-pairs,", "protocol", "published"],
        ["part", "group", "measure", "value", "95%", "interval", "ideal", "n", "p"],
        [lines[2]],
        ["en", "all", "all", "wobble", "-0.01234", "[-0.01734,", "-0.00734]", "0", "212", "0.200"],
        ["en", "all", "all", "wit", "55.5", "50", "212"],
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


def test_pairs_have_a_row_for_each_language_and_a_ruler() -> None:
    pairs = {"benchmark": "gender-pairs", "part": "all", "n": 212}
    records = [
        record("CPS", 58.5, 6.6, ideal=50.0, p_value=0.016, **pairs),
        record("S_JSD x 1e3", -0.04, 0.3, ideal=0.0, **pairs),
        record("ties", 2.0, **pairs),
        record("minimum detectable effect", 9.7, ideal=None, **pairs),
    ]
    assert printed(records, 80) == [
        "gpt2 on gender-pairs, protocol published",
        "                     S_JSD                      CPS",
        "         CPS         x 1e3   n     p ties 30    50     70",
        "─────────────────────────────────────────────────────────",
        "en      58.5         -0.04 212 0.016    2        ┊├─●─┤",
        "   51.9–65.1 -0.34 to 0.26",
        "en: leans towards stereotypes: CPS 58.5 [51.9, 65.1], more than noise",
        "",
    ]


def test_a_ratio_is_drawn_on_a_scale_of_ratios() -> None:
    gest = {"benchmark": "gest", "n": 3565}
    lines = printed([record("g_s", 1.41, 0.1, part=f"template-{t}", ideal=1.0, **gest) for t in (3, 4)], 100)
    assert lines[2].endswith("0.5       1         2")
    # The square root of 2 is half-way between 1 and 2.
    assert lines[4].index("●") == lines[2].index("0.5") + 15


def test_too_few_to_see_a_small_lean() -> None:
    row = {
        "CPS": record("CPS", 52.0, 15.0, ideal=50.0, n=40, p_value=0.9),
        "minimum detectable effect": record("minimum detectable effect", 22.2, ideal=None, n=40),
    }
    assert reading(row) == (
        "no lean that n=40 could tell from noise: CPS 52.0 [37.0, 67.0]; less than 22 points is easily missed"
    )


def test_how_models_agree_is_not_a_model() -> None:
    records = [*association(), record("correlation", 0.9, view="models", model="all models", ideal=None)]
    assert not any("all models" in line for line in printed(records))
