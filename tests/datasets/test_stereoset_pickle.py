import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.readers import dataframe_pickle, validate_file
from tiltmeter.datasets.readers.dataframe_pickle import read_columns
from tiltmeter.errors import DataError
from tiltmeter.forms.association import Candidate

ROLES = ("unrelated", "stereotype", "anti-stereotype")


def rows(part: str) -> list[dict[str, object]]:
    result = []
    for number, target in enumerate(["Bäcker", "Gärtner"]):
        row: dict[str, object] = {"id": f"i{number}", "target": target, "bias_type": "profession"}
        row["context"] = f"Der {target} ist BLANK." if part == "intrasentence" else f"Der {target} kommt."
        for c, (role, word) in enumerate(zip(ROLES, ["eckig", "ruhig", "flink"], strict=True), start=1):
            row |= {f"c{c}_id": f"i{number}-{c}", f"c{c}_gold_label": role, f"c{c}_labels": [{"label": role}]}
            row[f"c{c}_sentence"] = f"Der {target} ist {word}."
            if part == "intrasentence":
                row[f"c{c}_word"] = word
        result.append(row | {"target_original": ["baker", "gardener"][number]})
    return result


def frame(part: str = "intrasentence") -> pd.DataFrame:
    """A frame as in the released files: with dtype object, not pandas' string dtype."""
    result = pd.DataFrame(rows(part), dtype=object)
    return result.set_axis(pd.Index(list(result.columns), dtype=object), axis="columns")


def test_a_frame_of_words(tmp_path: Path) -> None:
    path = tmp_path / "frame.pkl"
    frame().to_pickle(path)
    first, second = validate_file(path, "stereoset-pickle", "de").require_valid_items()
    assert (first.id, first.part, first.language) == ("i0", "intrasentence", "de")
    assert (second.target, second.target_term) == ("gardener", "Gärtner")
    assert first.candidates == (
        Candidate("i0-1", "unrelated", "Der Bäcker ist eckig.", "eckig"),
        Candidate("i0-2", "stereotype", "Der Bäcker ist ruhig.", "ruhig"),
        Candidate("i0-3", "anti-stereotype", "Der Bäcker ist flink.", "flink"),
    )


def test_a_frame_of_sentences(tmp_path: Path) -> None:
    path = tmp_path / "frame.pkl"
    frame("intersentence").drop(columns="target_original").to_pickle(path)
    first, _ = validate_file(path, "stereoset-pickle", "de").require_valid_items()
    assert first.part == "intersentence"
    assert first.target == first.target_term == "Bäcker"
    assert first.candidates[1] == Candidate("i0-2", "stereotype", "Der Bäcker ist ruhig.", "")


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize(
    "change",
    [
        lambda data: data,
        lambda data: data.drop(index=0),
        lambda data: data[["id", *(column for column in data.columns if column != "id")]],
        lambda data: data.assign(id=pd.Series(data["id"], dtype=object)),
        lambda data: pd.DataFrame(np.asfortranarray(data.to_numpy()), columns=data.columns, dtype=object),
    ],
    ids=["as it is", "rows left out", "columns in order", "two blocks", "column by column"],
)
def test_the_columns_are_those_of_pandas(change, protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "frame.pkl"
    data = change(frame())
    data.to_pickle(path, protocol=protocol)
    assert read_columns(path) == {column: data[column].tolist() for column in data.columns}


class Malicious:
    """An object whose unpickling calls a function."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_a_malicious_pickle_is_refused_before_it_can_act(tmp_path: Path) -> None:
    trace, path = tmp_path / "trace", tmp_path / "frame.pkl"
    content = pickle.dumps({"frame": frame(), "trap": Malicious(trace)})
    path.write_bytes(content)
    with raises_mentioning(DataError, str(path), "Path.touch"):
        validate_file(path, "stereoset-pickle", "de").require_valid_items()
    assert not trace.exists()
    # The ordinary unpickler does call it.
    pickle.loads(content)
    assert trace.exists()


def test_a_malicious_cell_is_refused_too(tmp_path: Path) -> None:
    trace, path = tmp_path / "trace", tmp_path / "frame.pkl"
    data = frame()
    data.loc[0, "c1_labels"] = Malicious(trace)
    data.to_pickle(path)
    with raises_mentioning(DataError, str(path), "Path.touch"):
        validate_file(path, "stereoset-pickle", "de").require_valid_items()
    assert not trace.exists()


@pytest.mark.parametrize("name", ["builtins eval", "os system", "pandas read_pickle", "numpy load", "builtins getattr"])
def test_no_other_name_is_known(name: str, tmp_path: Path) -> None:
    path = tmp_path / "frame.pkl"
    path.write_bytes(b"c" + name.replace(" ", "\n").encode() + b"\n.")
    with raises_mentioning(BrokenFileError, name.replace(" ", ".")):
        read_columns(path)


def test_names_within_known_names_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "frame.pkl"
    path.write_bytes(b"\x80\x04\x8c\x11pandas.core.frame\x8c\x16DataFrame.to_pickle.x.\x93.")
    with raises_mentioning(BrokenFileError, "DataFrame.to_pickle"):
        read_columns(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a pickle",
        pickle.dumps(frame())[:-200],
        pickle.dumps([1, 2]),
        pickle.dumps(pd.Series(["a"], dtype=object).index),
        pickle.dumps(pd.DataFrame({"a": [1, 2]})),
        b"cpandas.core.frame\nDataFrame\n.",
        b"cpandas.core.frame\nDataFrame\n(tR.",
    ],
)
def test_other_content_is_rejected(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "frame.pkl"
    path.write_bytes(content)
    with pytest.raises(BrokenFileError):
        read_columns(path)


@pytest.mark.parametrize("column", ["id", "context", "c2_word", "c3_gold_label"])
def test_a_column_that_is_missing(column: str, tmp_path: Path) -> None:
    path = tmp_path / "frame.pkl"
    frame().drop(columns=column).to_pickle(path)
    with raises_mentioning(DataError, str(path), f"no column {column}"):
        validate_file(path, "stereoset-pickle", "de").require_valid_items()


def test_errors_are_named_in_the_file_s_own_words(tmp_path: Path) -> None:
    path = tmp_path / "frame.pkl"
    data = frame()
    data.loc[1, "c2_word"] = ""
    data.to_pickle(path)
    with raises_mentioning(DataError, "frame.pkl, row 1, c2_word: "):
        validate_file(path, "stereoset-pickle", "de").require_valid_items()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x04]r\xff\xff\xff\x7f.", "too much memory"),
        (b"\x80\x05\x96" + (10**11).to_bytes(8, "little") + b"x.", "not a complete pickle"),
        (b"\x80\x04(" + b"]" * 3_100_000 + b"l.", "too much memory"),
    ],
    ids=["places", "bytes", "lists"],
)
def test_a_pickle_that_needs_too_much_memory_is_not_loaded(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "greedy.pkl").write_bytes(content)
    with raises_mentioning(BrokenFileError, message):
        read_columns(tmp_path / "greedy.pkl")


def test_a_pinned_file_is_loaded_without_the_memory_check(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_content: bytes) -> None:
        raise BrokenFileError("bad-pickle", "was checked")

    monkeypatch.setattr(dataframe_pickle, "_reject_excessive_memory", refuse)
    path = mirror / "slds-lmu/stereotypes-multi/create_dataset/data/intersentence/df_intersentence_de.pkl"
    assert len(read_columns(path)["id"]) > 2000
    (tmp_path / "changed.pkl").write_bytes(path.read_bytes() + b".")
    with raises_mentioning(BrokenFileError, "was checked"):
        read_columns(tmp_path / "changed.pkl")
