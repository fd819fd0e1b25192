"""Translations, revisions and controls of CrowS-Pairs: files of their layouts, with our own sentences."""

import json
from pathlib import Path

import pytest

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.datasets.readers import validate_file
from tiltmeter.errors import DataError
from tiltmeter.forms.pairs import PairItem

HEADER = "sent_more,sent_less,stereo_antistereo,bias_type"


def codes(path: Path, format: str, language: str) -> list[tuple[str, str, str]]:
    return [(f.code, f.row, f.field) for f in validate_file(path, format, language).findings]


def test_ids_are_those_of_the_original(tmp_path: Path) -> None:
    path = tmp_path / "crows.csv"
    path.write_text(f"id,{HEADER}\r\n5,She sews.,He sews.,stereo,gender\r\n8,He saws.,She saws.,antistereo,gender\r\n")
    assert validate_file(path, "crows-parallel", "en").require_valid_items() == [
        PairItem("5", "en", "gender", "stereo", "She sews.", "He sews."),
        PairItem("8", "en", "gender", "antistereo", "He saws.", "She saws."),
    ]


def test_a_pair_without_a_sentence_is_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "crows.csv"
    path.write_text(f"id,{HEADER}\n5,She sews.,,stereo,gender\n8,He saws.,She saws.,antistereo,gender\n")
    examination = validate_file(path, "crows-parallel", "en")
    assert [item.id for item in examination.require_valid_items()] == ["8"]
    (finding,) = examination.findings
    assert (finding.code, finding.severity, finding.row, finding.field) == (
        "half-pair",
        "warning",
        "line 2",
        "sent_less",
    )
    assert_mentions(finding.message, "pair 5")


def test_tab_separated_with_french_bias_types(tmp_path: Path) -> None:
    path = tmp_path / "crows.csv"
    lines = ["\t" + HEADER.replace(",", "\t"), "0\tÀ midi, elle coud.\tÀ midi, il coud.\tstereo\tgender"]
    path.write_text("\n".join([*lines, 'LA3\tUn "thé".\tUn café.\tstereo\tautre']) + "\n", encoding="utf-8")
    assert validate_file(path, "crows-tsv", "fr").require_valid_items() == [
        PairItem("0", "fr", "gender", "stereo", "À midi, elle coud.", "À midi, il coud."),
        PairItem("LA3", "fr", "other", "stereo", 'Un "thé".', "Un café."),
    ]


def test_bias_types_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "crows_revised.csv"
    path.write_text(f",{HEADER}\n0,A b c.,A b d.,stereo,Race-color\n4,A b e.,A b f.,stereo,stereo\n")
    examination = validate_file(path, "crows-revised", "en")
    assert [item.bias_type for item in examination.require_valid_items() if isinstance(item, PairItem)] == [
        "race-color",
        "other",
    ]
    assert codes(path, "crows-revised", "en") == [("bad-bias-type", "line 3", "bias_type")]


def dutch(folder: Path) -> Path:
    """A file in Mac Roman with two letters in UTF-8 and one other direction, and the English file beside it."""
    directions = ("stereo", "antistereo", "stereo")
    sentences = [("Zoë", "Daniël"), ("Één", "Twee"), ("Zij", "Hij")]
    rows = [
        f"{number},{more} breit.,{less} breit.,{direction},gender"
        for number, ((more, less), direction) in enumerate(zip(sentences, directions, strict=True))
    ]
    content = "\r\n".join([f"id,{HEADER}", *rows, ""]).encode("mac_roman")
    (folder / "crows_dutch.csv").write_bytes(content.replace("Één".encode("mac_roman"), "Één".encode()))
    english = [f"{number},{name} knits.,He knits.,stereo,gender" for number, name in enumerate("ABC")]
    (folder / "crows_eng.csv").write_text("\n".join([f"id,{HEADER}", *english, ""]))
    return folder / "crows_dutch.csv"


def test_dutch_is_in_mac_roman_with_some_utf_8(tmp_path: Path) -> None:
    items = validate_file(dutch(tmp_path), "crows-dutch", "nl").require_valid_items()
    assert [(item.more, item.less) for item in items if isinstance(item, PairItem)] == [
        ("Zoë breit.", "Daniël breit."),
        ("Één breit.", "Twee breit."),
        ("Zij breit.", "Hij breit."),
    ]


def test_directions_other_than_in_english_are_shown_and_kept(tmp_path: Path) -> None:
    path = dutch(tmp_path)
    assert codes(path, "crows-dutch", "nl") == [("direction-differs", "line 3", "stereo_antistereo")]
    items = validate_file(path, "crows-dutch", "nl").require_valid_items()
    assert [item.direction for item in items if isinstance(item, PairItem)] == ["stereo", "antistereo", "stereo"]
    (tmp_path / "crows_eng.csv").unlink()
    with raises_mentioning(DataError, "crows_dutch.csv: ", "crows_eng.csv"):
        validate_file(path, "crows-dutch", "nl").require_valid_items()


def test_json_with_the_votes_of_annotators(tmp_path: Path) -> None:
    path = tmp_path / "ja.json"
    pair = {"direction": "stereo", "bias_type": "gender", "stereotype": "母は編む。", "anti-stereotype": "父は編む。"}
    path.write_text(json.dumps([{**pair, "bias_score": 4}, {**pair, "bias_score": "4"}, 3]), encoding="utf-8")
    examination = validate_file(path, "crows-json", "ja")
    assert examination.items == [PairItem("0", "ja", "gender", "stereo", "母は編む。", "父は編む。", votes=4)]
    assert [(f.code, f.row, f.field) for f in examination.findings] == [
        ("wrong-type", "[1]", "bias_score"),
        ("bad-json", "[2]", ""),
    ]
    for content in ("{", "{}"):
        path.write_text(content)
        with raises_mentioning(DataError, "ja.json: "):
            validate_file(path, "crows-json", "ja").require_valid_items()


def test_rubia_has_subtypes_and_no_direction(tmp_path: Path) -> None:
    path = tmp_path / "rubia.tsv"
    rows = ["\tpro-trope\tanti-trope\tdomain\ttask_type", "0\tОна вяжет\tОн вяжет\tgender\tfreeform_job"]
    path.write_text("\r\n".join([*rows, "1\tТри\tДва\tclass\tfreeform_job", ""]), encoding="utf-8")
    assert validate_file(path, "rubia-tsv", "ru").require_valid_items() == [
        PairItem("0", "ru", "gender", "", "Она вяжет", "Он вяжет", subtype="gender: freeform_job"),
        PairItem("1", "ru", "class", "", "Три", "Два", subtype="class: freeform_job"),
    ]


def controls(folder: Path, rows: list[str]) -> Path:
    lines = [f",{HEADER}", "3,Aunts sew.,Uncles sew.,stereo,gender", "4,Old men nap.,Young men nap.,stereo,age"]
    (folder / "crows_revised.csv").write_text("\n".join([*lines, "9,Uncles saw.,Aunts saw.,antistereo,gender", ""]))
    path = folder / "crows_negation.csv"
    path.write_text("\r\n".join(rows))
    return path


def test_controls_have_the_ids_and_directions_of_their_pairs(tmp_path: Path) -> None:
    pairs = ["Aunts sew.,Uncles saw.", "Uncles sew.,Aunts saw."]
    negated = ["Aunts never sew.,Uncles never saw.", "Uncles never sew.,Aunts never saw."]
    path = controls(tmp_path, [*pairs, *negated, ",Uncles do not saw.", ",Aunts do not saw."])
    assert validate_file(path, "crows-controls", "en").require_valid_items() == [
        PairItem("3", "en", "gender", "stereo", "Aunts never sew.", "Uncles never sew."),
        PairItem("9", "en", "gender", "antistereo", "Uncles never saw.", "Aunts never saw."),
        PairItem("9/2", "en", "gender", "antistereo", "Uncles do not saw.", "Aunts do not saw."),
    ]


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        (["a,b", "c,d", "e,f"], "even number of rows"),
        (["a,b", "c,d"], "at least 4"),
        (["a,b", "c,d", "e,f", "g"], "with 2 values"),
        (["a,b,x", "c,d,x", "e,f,x", "g,h,x"], "crows_revised.csv"),
        (["a,b", "c,d", '"e"f,', "g,h"], "is not CSV"),
        (["a,b", "c,d", "e,f", "g,"], "rows 3 and 4, column 2, less: "),
    ],
)
def test_invalid_files_of_controls(rows: list[str], part: str, tmp_path: Path) -> None:
    with raises_mentioning(DataError, "crows_negation.csv", part):
        validate_file(controls(tmp_path, rows), "crows-controls", "en").require_valid_items()


def test_slovak_pairs_and_their_controls(tmp_path: Path) -> None:
    path = tmp_path / "slovak.csv"
    path.write_text(
        "ID,file,Gender veta 1,sentiment,veta1,veta2,veta3,veta4,competence?,misogynistic?\n"
        "0,x,F,0,Teta <pletie>.,Teta <pília>.,Ujo <pletie>.,Ujo <pília>.,,\n"
        "4,x,M,0,Ujo <pília>.,Ujo <pletie>.,Teta <pília>.,Teta <pletie>.,n,\n"
        "5,x,?,0,Ujo <spí>.,Ujo <bdie>.,Teta <spí>.,Teta <bdie>.,,?\n",
        encoding="utf-8",
    )
    kept, dropped = "kept by its authors", "left out by its authors"
    assert validate_file(path, "slovak-gender", "sk").require_valid_items() == [
        PairItem("0", "sk", "gender", "stereo", "Teta pletie.", "Ujo pletie.", subtype=kept),
        PairItem("4", "sk", "gender", "antistereo", "Ujo pília.", "Teta pília.", subtype=dropped),
        PairItem("5", "sk", "gender", "", "Ujo spí.", "Teta spí.", subtype=dropped),
    ]
    control = validate_file(path, "slovak-gender-control", "sk").require_valid_items()[0]
    assert control == PairItem("0", "sk", "gender", "stereo", "Teta pília.", "Ujo pília.", subtype=kept)
