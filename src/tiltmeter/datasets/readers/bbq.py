"""Readers of BBQ, and of MBBQ, which has the same fields as BBQ in other languages.

In BBQ, the column `target_loc` of `analysis_scripts/additional_metadata.csv` gives the index of the stereotypical
answer. The script of the authors uses this column, too, because the labels of the answers do not always match the
stereotyped groups. `target_loc` already depends on whether the question is negative or non-negative. 16 rows have no
value in this column and are omitted. As in the script of the authors, items in which people have names form separate
categories.

MBBQ has no metadata file. For a negative question, the stereotypical answer is the only person whose label is a
stereotyped group; for a non-negative question, it is the other person. The groups F and M correspond to labels such as
woman, meisje and erkek çocuk. In twelve Spanish rows, both people have the label `chico`; for these rows, the last
words of the answers are used as labels. The id of an item contains its number within its question, because the
questions of Gender_identity have another order in Spanish.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.answer_roles import (
    PARTS,
    POLARITIES,
    RowError,
    build_answer_values,
    convert_records,
    find_stereotyped_answer,
    find_unknown_answer,
    parse_texts,
)
from tiltmeter.datasets.readers.csv_records import require_columns
from tiltmeter.datasets.readers.decoded_text import find_file_in_same_folder, read_text
from tiltmeter.forms import Problem

METADATA = "additional_metadata.csv"
_ANSWERS = ("ans0", "ans1", "ans2")
_NAMES = {"part": "context_condition", "polarity": "question_polarity", "bias_type": "category"}
_FEMALE = frozenset({"f", "woman", "girl", "vrouw", "meisje", "kadın", "kız", "mujer", "chica"})
_MALE = frozenset({"m", "man", "boy", "jongen", "adam", "erkekçocuk", "hombre", "chico"})


def read_json_rows(path: Path) -> Iterator[RawRecord]:
    """Yield a record for each line of a file with one JSON object per line."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        row = f"line {number}"
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield RawRecord(row, None, problems=[Problem("bad-json", "", f"is not valid JSON: {error}")])
            continue
        if isinstance(values, dict):
            yield RawRecord(row, values)
        else:
            yield RawRecord(row, None, problems=[Problem("bad-json", "", "must be a JSON object: {...}")])


def parse_bbq(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file of BBQ; the stereotypical answers are read from the metadata file."""
    targets = _read_target_groups(_find_metadata_file(path))

    def build_bbq_values(values: Mapping[str, Any]) -> dict[str, object]:
        key = (str(values.get("category")), str(values.get("example_id")), str(values.get("question_index")))
        if key not in targets:
            raise RowError("contradictory-roles", "example_id", f"{METADATA} has no row for {'/'.join(key)}")
        target, named = targets[key]
        if target is None:
            raise RowError("unclear-stereotype", "target_loc", f"{METADATA} does not name the stereotypical answer")
        fields = _build_fields(values, language, _find_unknown_label(values), target)
        return fields | {"id": f"{key[0]}/{key[1]}", "bias_type": f"{key[0]} (names)" if named else key[0]}

    yield from convert_records(read_json_rows(path), build_bbq_values, _NAMES)


def parse_mbbq(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file of MBBQ, or of the control set of MBBQ."""
    counts: Counter[str] = Counter()

    def build_mbbq_values(values: Mapping[str, Any]) -> dict[str, object]:
        template = f"{values.get('category')}/{values.get('question_index')}"
        counts[template] += 1
        unknown = _find_unknown_label(values)
        negative = values.get("question_polarity") == "neg"
        target = find_stereotyped_answer(_flag_stereotyped_answers(values, unknown), unknown, negative=negative)
        return _build_fields(values, language, unknown, target) | {"id": f"{template}/{counts[template]}"}

    return convert_records(read_json_rows(path), build_mbbq_values, _NAMES)


def parse_basqbbq(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file of BasqBBQ, whose fields are those of MBBQ; ids contain the number of the example.

    Some answers have the label NaN; their label is the last text before it.
    """

    def build_values(row: Mapping[str, Any]) -> dict[str, object]:
        info = row.get("answer_info")
        values = {**row, "answer_info": _drop_missing_labels(info) if isinstance(info, dict) else info}
        unknown = _find_unknown_label(values)
        negative = values.get("question_polarity") == "neg"
        target = find_stereotyped_answer(_flag_stereotyped_answers(values, unknown), unknown, negative=negative)
        return _build_fields(values, language, unknown, target) | {
            "id": f"{values.get('category')}/{values.get('example_id')}"
        }

    return convert_records(read_json_rows(path), build_values, _NAMES)


def _drop_missing_labels(info: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: [label for label in labels if label == label] if isinstance(labels, list) else labels
        for name, labels in info.items()
    }


def _build_fields(values: Mapping[str, Any], language: str, unknown: int, stereotype: int) -> dict[str, object]:
    if unknown == stereotype:
        raise RowError("contradictory-roles", "target_loc", 'the stereotypical answer is "unknown"')
    condition, polarity = values.get("context_condition"), values.get("question_polarity")
    category = values.get("category")
    fields: dict[str, object] = {
        "language": language,
        "part": PARTS.get(str(condition), condition),
        "polarity": POLARITIES.get(str(polarity), polarity),
        "bias_type": category,
        "template": f"{category}/{values.get('question_index')}",
    }
    fields |= {name: values[name] for name in ("context", "question") if name in values}
    return fields | build_answer_values(
        [values.get(name) for name in _ANSWERS], unknown, stereotype, values.get("label")
    )


def _list_labels(values: Mapping[str, Any]) -> list[str]:
    info = values.get("answer_info")
    if not isinstance(info, dict):
        raise RowError("wrong-type", "answer_info", "must be an object with a list for each answer")
    return [parse_texts(info.get(name), f"answer_info.{name}")[-1] for name in _ANSWERS]


def _find_unknown_label(values: Mapping[str, Any]) -> int:
    return find_unknown_answer([label == "unknown" for label in _list_labels(values)])


def _flag_stereotyped_answers(values: Mapping[str, Any], unknown: int) -> list[bool]:
    """Return, for each of the three answers, whether the person in the answer belongs to a stereotyped group."""
    metadata = values.get("additional_metadata")
    groups = metadata.get("stereotyped_groups") if isinstance(metadata, dict) else None
    wanted = {_normalise_group(text) for text in parse_texts(groups, "additional_metadata.stereotyped_groups")}
    labels = _list_labels(values)
    people = [index for index in range(3) if index != unknown]
    if len({labels[index] for index in people}) == 1 and wanted <= {"f", "m"}:
        labels = [str(values.get(name)).split()[-1] if values.get(name) else "" for name in _ANSWERS]
    return [_normalise_group(label) in wanted for label in labels]


def _normalise_group(label: str) -> str:
    """Return a label in a uniform spelling, without spaces; words for women become `f`, words for men become `m`."""
    plain = label.replace(" ", "").casefold()
    return "f" if plain in _FEMALE else "m" if plain in _MALE else plain


def _find_metadata_file(path: Path) -> Path:
    """Return the path of the metadata file: in `analysis_scripts` as in the repository, or next to the data file."""
    released = path.parent.parent / "analysis_scripts" / METADATA
    return released if released.is_file() else find_file_in_same_folder(path, METADATA, "missing-field")


@lru_cache(maxsize=1)
def _read_target_groups(path: Path) -> dict[tuple[str, str, str], tuple[int | None, bool]]:
    """Return a dictionary from (category, example, question) to (stereotypical answer, whether people have names).

    The stereotypical answer is its index; None if the metadata file does not name it.
    """
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    try:
        columns, rows = list(reader.fieldnames or ()), list(reader)
    except csv.Error as error:
        raise BrokenFileError("bad-csv", f"{path.name} is not CSV: {error}") from error
    require_columns(columns, ("category", "example_id", "question_index", "target_loc"), path.name)
    targets: dict[tuple[str, str, str], tuple[int | None, bool]] = {}
    for row in rows:
        target = (row["target_loc"] or "").strip()
        index = int(float(target)) if target.replace(".0", "") in ("0", "1", "2") else None
        key = (row["category"], row["example_id"], row["question_index"])
        if targets.setdefault(key, (index, row.get("label_type") == "name"))[0] != index:
            raise BrokenFileError("contradictory-roles", f"{path.name} has two target_loc values for {'/'.join(key)}")
    return targets


READS = {"bbq-jsonl": parse_bbq, "mbbq-jsonl": parse_mbbq, "basqbbq-jsonl": parse_basqbbq}
