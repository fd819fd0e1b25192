import io
from dataclasses import replace

import pytest
from rich.console import Console

from tests.measures.present import present
from tests.reports.made import association_records as association
from tests.reports.made import record, row
from tests.runs.made import association_scores, chosen_scores, gest_scores, half_sensible_scores, pair_scores, run
from tests.support.messages import assert_mentions
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict_rule import assign_verdicts
from tiltmeter.reports.formatting import format_reported_p
from tiltmeter.reports.result_table import describe_verdict, print_measures


def printed(
    records: list[Record], width: int = 100, encoding: str = "utf-8", view: str = "all", meanings: bool = False
) -> list[str]:
    """Return the printed lines; without `meanings`, without the explanations of the measures at the end."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, record=True)
    print_measures(assign_verdicts(records), console, view)
    file.flush()
    lines = [line.rstrip() for line in console.export_text(styles=False).splitlines()]
    assert all(len(line) <= width for line in lines)
    return lines if meanings or "" not in lines else lines[: len(lines) - lines[::-1].index("")]


def test_a_row_for_each_language_and_part() -> None:
    records = [
        *association(language="de", part="intersentence", ss=49.9, half=2.1, ties=7),
        *association(),
        record("SS", 70.0, 5.0, view="bias_type", group="gender"),
    ]
    lines = printed(records)
    assert lines[:8] == [
        "gpt2 on stereoset, protocol published",
        "                                                                                 SS",
        "    part                 LMS         SS       ICAT     n       p  ties  30       50        70",
        "─────────────────────────────────────────────────────────────────────────────────────────────",
        "de  intersentence       83.1       49.9       68.6  2106   0.926     7           ├●┤",
        "                   81.7–84.5  47.8–52.0  64.9–72.3",
        "en  intrasentence       83.1       58.2       68.6  2106  <0.001     0            ┊  ├●─┤",
        "                   81.7–84.5  55.1–61.3  64.9–72.3",
    ]
    assert_mentions(lines[8], "de intersentence: no bias", "SS 49.9 [47.8, 52.0]")
    assert_mentions(lines[9], "en intrasentence: significant bias", "SS 58.2 [55.1, 61.3]")
    assert lines[10:] == [""]


def test_in_80_columns_and_without_line_drawing() -> None:
    lines = printed(association(n=4229), 80, "ascii")
    assert lines[:6] == [
        "gpt2 on stereoset, protocol published",
        "                                                              SS",
        "   part        LMS        SS      ICAT    n      p ties 30    50     70",
        "-----------------------------------------------------------------------",
        "en intra      83.1      58.2      68.6 4229 <0.001    0        : [o]",
        "         81.7-84.5 55.1-61.3 64.9-72.3",
    ]
    assert_mentions(" ".join(lines[6:]), "en intra: significant bias", "SS 58.2 [55.1, 61.3]")


def test_p_does_not_depend_on_the_other_languages_of_a_run() -> None:
    alone = [line.split() for line in printed(association(ss=52.0, half=1.8))]
    languages = [record for language in ("de", "en", "fr") for record in association(52.0, 1.8, language=language)]
    together = [line.split() for line in printed(languages)]
    assert "0.029" in alone[4]
    assert ["0.029" in together[number] for number in (4, 6, 8)] == [True] * 3


def test_ss_as_published_has_a_column_only_where_ties_make_it_differ() -> None:
    assert "published\n" not in "\n".join(printed(association(ties=3))[1:])
    lines = printed(association(ties=300, published=51.1))
    assert lines[2].split()[:5] == ["part", "LMS", "SS", "published", "ICAT"]
    assert lines[4].split()[2:6] == ["83.1", "58.2", "51.1", "68.6"]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_what_a_row_is_stays_readable_beside_the_column_as_published(width: int) -> None:
    parts = [("intrasentence", "intra"), ("intersentence", "inter"), ("overall", "overall")]
    records = [r for part, _ in parts for r in association(part=part, ties=300, published=51.1)]
    rows = [line.split() for line in printed(records, width) if line.startswith("en ") and ":" not in line]
    assert [cells[1] for cells in rows] == [part if width == 100 else short for part, short in parts]
    assert width == 60 or all("●" in cells[-1] for cells in rows)  # the ruler is narrower, or left out


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize(("scores", "family"), [(pair_scores, "pairs"), (gest_scores, "gest")])
def test_no_column_is_cut(width: int, scores, family: str) -> None:
    lines = printed(run(scores(), family=family).records, width)
    assert not any("…" in line for line in lines)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"half": 4.0}, ["significant bias towards stereotypes", ": SS 58.2 [54.2, 62.2]"]),
        (
            {"ss": 41.0, "half": 1.5},
            ["bias against stereotypes", "beyond 5 points", "SS 41.0 [39.5, 42.5]"],
        ),
        ({"ss": 52.0, "half": 1.5}, ["towards stereotypes", "within ±5 points", "SS 52.0 [50.5, 53.5]"]),
        ({"ss": 50.5, "half": 1.5}, ["no bias", "±5 points", "SS 50.5 [49.0, 52.0]"]),
        ({"ss": 53.0, "half": 4.0, "n": 600}, ["inconclusive", "600 items", "5.7 points", "SS 53.0 [49.0, 57.0]"]),
        ({"ss": 53.0, "half": 15.0, "n": 40}, ["too few items", "40 items", "21.4 points", "SS 53.0 [38.0, 68.0]"]),
        ({"clusters": 4}, ["too few items", "4 targets", "SS 58.2 [55.1, 61.3]"]),
        ({"lms": 51.0}, ["not interpretable", "LMS 51.0 [49.6, 52.4]", "SS 58.2 [55.1, 61.3]"]),
        ({"ties": 500, "n": 1000}, ["not interpretable", "500 of 1000 items", "20%", "SS 58.2 [55.1, 61.3]"]),
    ],
    ids=["significant", "beyond", "within", "no bias", "inconclusive", "too wide", "few targets", "no sense", "ties"],
)
def test_each_kind_of_verdict_in_words(given: dict, parts: list[str]) -> None:
    assert_mentions(describe_verdict(row(**given)), *parts)


def test_parts_that_contradict_each_other_are_all_told() -> None:
    records = [
        *association(ss=57.0, half=2.0),
        *association(ss=43.0, half=2.0, part="intersentence"),
        *association(ss=50.0, half=1.5, part="overall"),
    ]
    intra, inter, overall = (line for line in printed(records, 120) if line.startswith("en ") and ":" in line)
    assert_mentions(intra, "en intrasentence: significant bias", "towards", "SS 57.0 [55.0, 59.0]")
    assert_mentions(inter, "en intersentence: significant bias", "against", "SS 43.0 [41.0, 45.0]")
    assert_mentions(overall, "en overall: contradictory", "intrasentence towards", "intersentence against", "SS 50.0")


def list_sentences(records: list[Record]) -> list[str]:
    return [line for line in printed(records, 200) if line.startswith("en ") and ":" in line]


def test_only_parts_with_another_verdict_than_the_pooled_one_are_printed() -> None:
    alike = [*association(ss=62.0), *association(ss=61.0, part="intersentence")]
    (pooled,) = list_sentences([*alike, *association(ss=61.5, half=2.0, part="overall")])
    assert_mentions(pooled, "en overall: significant", "beyond")
    other = [*association(ss=56.0), *association(ss=50.0, part="intersentence")]
    part, pooled = list_sentences([*other, *association(ss=53.5, half=2.0, part="overall")])
    assert_mentions(part, "en intersentence: no bias")
    assert_mentions(pooled, "en overall: significant")


def test_a_pooled_row_with_an_uninterpretable_part_names_it_and_shows_no_p() -> None:
    records = run(half_sensible_scores(ss=60.0, n=600)).records
    intra, inter, pooled = list_sentences(records)
    assert_mentions(intra, "en intrasentence: significant")
    assert_mentions(inter, "en intersentence: not interpretable", "LMS")
    assert_mentions(pooled, "en overall: not interpretable (intersentence: LMS")
    (line,) = [line for line in printed(records, 200) if line.split()[:2] == ["en", "overall"]]
    assert "<0.001" not in line


def test_a_value_that_is_not_interpretable_has_no_p_value() -> None:
    records = run(chosen_scores(ss=60.0, n=400, sense=False)).records
    record = next(r for r in records if r.measure == "SS")
    assert present(record.p_adjusted) < 0.05
    assert format_reported_p(record) == ""
    assert not any("<0.001" in line for line in printed(records, 200))


def test_parts_with_different_types_of_answers_are_both_printed() -> None:
    alike = [*association(ss=62.0), *association(ss=61.0, part="intersentence")]
    pooled = [replace(r, family="likelihood + next-sentence") for r in association(ss=61.5, half=2.0, part="overall")]
    assert [line.split(":")[0] for line in list_sentences([*alike, *pooled])] == [
        "en intrasentence",
        "en intersentence",
        "en overall",
    ]


def test_measures_that_contradict_each_other_are_told() -> None:
    records = run(pair_scores(lean=1.0, distance_lean=-10.0, n=400), family="pairs").records
    (sentence,) = [line for line in printed(records, 160) if line.startswith("en: ")]
    assert_mentions(sentence, "en: contradictory", "CPS towards stereotypes", "S_JSD x 1e3 against")


def test_whether_it_holds_for_other_stereotypes() -> None:
    alike = run(gest_scores(lean=1.0, n=800), family="gest").records
    assert_mentions(printed(alike, 160)[-2], "; also significant", "stereotypes like these")
    table = gest_scores(lean=1.0, n=800)
    spread = table["stereotype"].map({number: 2.0 * (-1) ** number for number in range(1, 17)})
    unlike = run(table.assign(score=table["score"] + spread), family="gest").records
    sentence = printed(unlike, 300)[-2]
    assert_mentions(sentence, "significant bias towards stereotypes", "only for these stereotypes", "not significant")


def test_groups_of_a_view() -> None:
    records = run(chosen_scores(ss=60.0, n=900)).records
    lines = printed(records, 110, view="bias_type")
    assert lines[2].split()[:4] == ["group", "part", "LMS", "SS"]
    rows = [line.split()[1:3] for line in lines if "●" in line]
    assert rows == [
        [group, part]
        for part in ("intrasentence", "intersentence", "overall")
        for group in ("gender", "profession", "race")
    ]
    assert_mentions("\n".join(lines), "en overall gender: significant")


def test_terms_that_show_nothing_have_no_sentence() -> None:
    records = run(chosen_scores(ss=50.0, n=200)).records
    lines = printed(records, 110, view="target")
    assert sum(line.startswith("en  target ") for line in lines) == 3 * 20
    assert not any("too few" in line for line in lines)


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
    (sentence,) = (line for line in lines if line.startswith("en overall: "))
    assert_mentions(sentence, "en overall: significant", "SS 58.2 [55.1, 61.3]")
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
        record("wobble", -0.01234, 0.005, benchmark="gender-pairs", part="all", n=212),
        replace(record("wit", 55.5, benchmark="gender-pairs", part="all", n=212), ideal=50.0, p_value=0.2),
    ]
    lines = printed(records, width)
    assert [line.split() for line in lines] == [
        ["gpt2", "on", "gender-pairs,", "protocol", "published"],
        ["part", "group", "measure", "value", "95%", "interval", "ideal", "n", "p"],
        [lines[2]],
        ["en", "all", "all", "wobble", "-0.01234", "[-0.01734,", "-0.00734]", "212"],
        ["en", "all", "all", "wit", "55.5", "50", "212", "0.200"],
        [],
    ]


def test_without_a_headline_everything_is_listed() -> None:
    assert any("gender" in line for line in printed([record("g", 1.0, 0.1, view="stereotype", group="gender")]))


def test_names_are_printed_as_they_are() -> None:
    assert printed(association(model="[red]x[/red]"))[0].startswith("[red]x[/red] on")


def test_without_an_interval_the_reason_is_told() -> None:
    pairs = {"benchmark": "gest-mt", "part": "all"}
    lines = printed([record("f_s", 0.234, why="a stereotype has 4 translations", n=57, **pairs)])
    assert lines[4].split() == ["en", "0.234", "57", "┊", "●"]
    assert_mentions(lines[5], "en: too few items", "a stereotype has 4 translations", "f_s 0.234")


def test_nothing_to_print() -> None:
    assert printed([]) == []


def test_pairs_have_a_row_for_each_language_and_a_ruler() -> None:
    pairs = {"benchmark": "gender-pairs", "part": "all", "n": 212}
    records = [
        record("CPS", 58.5, 6.6, **pairs),
        record("S_JSD x 1e3", -0.04, 0.3, **pairs),
        record("ties", 2.0, **pairs),
    ]
    lines = printed(records, 80)
    assert lines[:6] == [
        "gpt2 on gender-pairs, protocol published",
        "                     S_JSD                      CPS",
        "         CPS         x 1e3   n     p ties 30    50     70",
        "─────────────────────────────────────────────────────────",
        "en      58.5         -0.04 212 0.012    2        ┊├─●─┤",
        "   51.9–65.1 -0.34 to 0.26",
    ]
    assert_mentions(lines[6], "en: significant bias", "CPS 58.5 [51.9, 65.1]")


def test_a_ratio_is_drawn_on_a_scale_of_ratios() -> None:
    lines = printed([record("g_s", 1.41, 0.1, part=f"template-{t}", benchmark="gest", n=3565) for t in (3, 4)], 100)
    assert lines[2].endswith("0.5       1         2")
    # The square root of 2 is half-way between 1 and 2.
    assert lines[4].index("●") == lines[2].index("0.5") + 15


def test_how_models_agree_is_not_a_model() -> None:
    records = [*association(), record("correlation", 0.9, view="models", model="all models")]
    assert not any("all models" in line for line in printed(records))


@pytest.mark.parametrize("width", [60, 140])
@pytest.mark.parametrize("family", ["association", "gest", "pairs"])
def test_language_and_part_are_never_cut_and_what_is_left_out_is_named(width: int, family: str) -> None:
    scores = {"association": association_scores, "gest": gest_scores, "pairs": pair_scores}[family]
    result = run(scores(), family=family)
    lines = printed(result.records, width, meanings=True)
    rows = [line for line in lines if line.startswith("en") and ":" not in line]
    parts = {record.part for record in result.records if record.view == "all" and record.part != "all"}
    shown = {part: {"intrasentence": "intra", "intersentence": "inter"}.get(part, part) for part in parts}
    for part, short in shown.items():
        assert any(part in row or short in row for row in rows), part
    assert not any("…" in row for row in rows)
    text = " ".join(lines)
    decided = next(r.measure for r in result.records if r.verdict is not None and r.view == "all")
    assert f"{decided}: " in text  # the meaning of the measure is printed
    if width == 140:
        assert "too narrow" not in text


@pytest.mark.parametrize(("ss", "mark"), [(81.0, "►"), (19.0, "◄")])
def test_a_value_beyond_the_picture_is_marked_and_the_mark_explained(ss: float, mark: str) -> None:
    lines = printed(association(ss=ss, half=3.0))
    assert sum(line.startswith(f"{mark}: the value is outside") for line in lines) == 1
    assert sum(mark in line for line in lines) == 2
    assert not any(": the value is outside" in line for line in printed(association()))
