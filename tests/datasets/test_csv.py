from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.readers import validate_file
from tiltmeter.errors import DataError
from tiltmeter.forms.gest import GestItem
from tiltmeter.forms.pairs import PairItem


def test_gender_pairs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(
        "ID,A_en,B_en,A_x,B_x,stereo_antistereo\n"
        'x7,She knits.,He knits.,"Sie strickt, gern.",Er strickt.,stereo\n'
        "12,He sews.,She sews.,Er näht.,Sie näht.,antistereo\n",
        encoding="utf-8",
    )
    assert validate_file(path, "pairs-csv", "de").require_valid_items() == [
        PairItem("x7", "de", "gender", "stereo", "Sie strickt, gern.", "Er strickt."),
        PairItem("12", "de", "gender", "antistereo", "Er näht.", "Sie näht."),
    ]


def test_crows_pairs_are_numbered_from_zero_and_not_turned_round(tmp_path: Path) -> None:
    path = tmp_path / "crows.csv"
    path.write_text(
        ",sent_more,sent_less,stereo_antistereo,bias_type,annotations\n"
        "0,Old men nap.,Young men nap.,stereo,age,[]\n"
        '1,Young men run.,Old men run.,antistereo,age,"[1,\n2]"\n'
        "2,She cooks.,He cooks.,stereo,gender,[]\n",
        encoding="utf-8",
    )
    assert validate_file(path, "crows-csv", "en").require_valid_items() == [
        PairItem("0", "en", "age", "stereo", "Old men nap.", "Young men nap."),
        PairItem("1", "en", "age", "antistereo", "Young men run.", "Old men run."),
        PairItem("2", "en", "gender", "stereo", "She cooks.", "He cooks."),
    ]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_gest(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "gest.csv"
    path.write_bytes(ending.join(["\ufeffsentence,stereotype", "I sang.,1", "", "I swam\u2028far.,16", ""]).encode())
    assert validate_file(path, "gest-csv", "en").require_valid_items() == [
        GestItem("0", "en", 1, "I sang."),
        GestItem("1", "en", 16, "I swam\u2028far."),
    ]


@pytest.mark.parametrize("stereotype", ["", "0", "17", "x", "1.0", "-1", "²", "9" * 5000])
def test_invalid_stereotypes(stereotype: str, tmp_path: Path) -> None:
    path = tmp_path / "gest.csv"
    path.write_text(f"sentence,stereotype\nI sang.,{stereotype}\n", encoding="utf-8")
    with raises_mentioning(DataError, "gest.csv, line 2, stereotype: "):
        validate_file(path, "gest-csv", "en").require_valid_items()


def test_errors_name_the_columns_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("ID,A_x,B_x,stereo_antistereo\n1,Sie singt.,,stereo\n", encoding="utf-8")
    with raises_mentioning(DataError, "pairs.csv, line 2, B_x: "):
        validate_file(path, "pairs-csv", "de").require_valid_items()


def test_a_row_of_another_length(tmp_path: Path) -> None:
    path = tmp_path / "gest.csv"
    path.write_text("sentence,stereotype\nI sang, loudly.,1\n", encoding="utf-8")
    with raises_mentioning(DataError, "line 2: has 3 values"):
        validate_file(path, "gest-csv", "en").require_valid_items()
