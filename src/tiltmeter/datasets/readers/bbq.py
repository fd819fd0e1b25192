"""Readers of BBQ and of MBBQ, which has the same fields in other languages.

Whom the stereotype names is, in BBQ, the column `target_loc` of `analysis_scripts/additional_metadata.csv`, as in the
authors' own script: the labels of the answers are not always those of the stereotyped groups there, and some are
missing. `target_loc` already depends on the polarity of the question. Without a number (16 rows) a row is left out.
Categories whose people have names are told apart, as in that script.

MBBQ has no such file. There it is the one person whose label is among the stereotyped groups, or, if nothing bad is
asked, the other one. F and M stand for labels such as woman, meisje and erkek çocuk; where both people have the same
label (`chico`, in twelve Spanish rows), the words of the answers tell them apart. Items are numbered within their
question, since the questions of Gender_identity are in another order in Spanish.
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
    find_stereotyped_answer,
    find_unknown_answer,
    parse_texts,
)
from tiltmeter.datasets.readers.decoded_text import read_text

METADATA = "additional_metadata.csv"
_ANSWERS = ("ans0", "ans1", "ans2")
_NAMES = {"part": "context_condition", "polarity": "question_polarity", "bias_type": "category"}
_FEMALE = frozenset({"f", "woman", "girl", "vrouw", "meisje", "kadın", "kız", "mujer", "chica"})
_MALE = frozenset({"m", "man", "boy", "jongen", "adam", "erkekçocuk", "hombre", "chico"})


def read_json_rows(path: Path) -> Iterator[tuple[str, dict[str, Any] | RawRecord]]:
    """The objects of a file with a JSON object in each line, or the records of lines that are none."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        row = f"line {number}"
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield row, RowError("bad-json", "", f"is not valid JSON: {error}").record(row)
            continue
        if isinstance(values, dict):
            yield row, values
        else:
            yield row, RowError("bad-json", "", "should be a JSON object: {...}").record(row)


def parse_bbq(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of a file of BBQ, with the file of its metadata."""
    targets = _read_targets(_find_metadata(path))
    for row, values in read_json_rows(path):
        if isinstance(values, RawRecord):
            yield values
            continue
        try:
            key = (str(values.get("category")), str(values.get("example_id")), str(values.get("question_index")))
            if key not in targets:
                raise RowError("contradictory-roles", "example_id", f"{METADATA} has no row for {'/'.join(key)}")
            target, named = targets[key]
            if target is None:
                raise RowError("unclear-stereotype", "target_loc", f"{METADATA} does not say whom the stereotype names")
            fields = _build_fields(values, language, _find_unknown_label(values), target)
            fields |= {"id": f"{key[0]}/{key[1]}", "bias_type": f"{key[0]} (names)" if named else key[0]}
            yield RawRecord(row, fields, _NAMES)
        except RowError as error:
            yield error.record(row)


def parse_mbbq(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of a file of MBBQ, or of its control set."""
    counts: Counter[str] = Counter()
    for row, values in read_json_rows(path):
        if isinstance(values, RawRecord):
            yield values
            continue
        template = f"{values.get('category')}/{values.get('question_index')}"
        counts[template] += 1
        try:
            unknown = _find_unknown_label(values)
            negative = values.get("question_polarity") == "neg"
            target = find_stereotyped_answer(_flag_stereotyped(values, unknown), unknown, negative=negative)
            fields = _build_fields(values, language, unknown, target)
            yield RawRecord(row, fields | {"id": f"{template}/{counts[template]}"}, _NAMES)
        except RowError as error:
            yield error.record(row)


def _build_fields(values: Mapping[str, Any], language: str, unknown: int, stereotype: int) -> dict[str, object]:
    if unknown == stereotype:
        raise RowError(
            "contradictory-roles", "target_loc", "the answer of the stereotype is the one that nobody can know"
        )
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
    """The labels of the three answers."""
    info = values.get("answer_info")
    if not isinstance(info, dict):
        raise RowError("wrong-type", "answer_info", "should be an object with a list for each answer")
    return [parse_texts(info.get(name), f"answer_info.{name}")[-1] for name in _ANSWERS]


def _find_unknown_label(values: Mapping[str, Any]) -> int:
    return find_unknown_answer([label == "unknown" for label in _list_labels(values)])


def _flag_stereotyped(values: Mapping[str, Any], unknown: int) -> list[bool]:
    """For each answer, whether it is of a stereotyped group."""
    metadata = values.get("additional_metadata")
    groups = metadata.get("stereotyped_groups") if isinstance(metadata, dict) else None
    wanted = {_normalise_group(text) for text in parse_texts(groups, "additional_metadata.stereotyped_groups")}
    labels = _list_labels(values)
    people = [place for place in range(3) if place != unknown]
    if len({labels[place] for place in people}) == 1 and wanted <= {"f", "m"}:
        labels = [str(values.get(name)).split()[-1] if values.get(name) else "" for name in _ANSWERS]
    return [_normalise_group(label) in wanted for label in labels]


def _normalise_group(label: str) -> str:
    """A label in one spelling: `low SES` and `lowSES` are the same, and all words for women are `f`."""
    plain = label.replace(" ", "").casefold()
    return "f" if plain in _FEMALE else "m" if plain in _MALE else plain


def _find_metadata(path: Path) -> Path:
    """BBQ's metadata: where they are in its repository, or beside the file."""
    places = (path.parent.parent / "analysis_scripts" / METADATA, path.with_name(METADATA))
    for place in places:
        if place.is_file():
            return place
    raise BrokenFileError("missing-field", f"needs {METADATA} of BBQ's folder analysis_scripts, here or beside it")


@lru_cache(maxsize=1)
def _read_targets(path: Path) -> dict[tuple[str, str, str], tuple[int | None, bool]]:
    """By category, example and question: the place of the stereotype's answer, and whether people have names."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    try:
        columns, rows = list(reader.fieldnames or ()), list(reader)
    except csv.Error as error:
        raise BrokenFileError("bad-csv", f"needs {path.name}, which is not CSV: {error}") from error
    for column in ("category", "example_id", "question_index", "target_loc"):
        if column not in columns:
            raise BrokenFileError("missing-column", f"needs {path.name}, which has no column {column}")
    targets: dict[tuple[str, str, str], tuple[int | None, bool]] = {}
    for row in rows:
        target = (row["target_loc"] or "").strip()
        place = int(float(target)) if target.replace(".0", "") in ("0", "1", "2") else None
        key = (row["category"], row["example_id"], row["question_index"])
        if targets.setdefault(key, (place, row.get("label_type") == "name"))[0] != place:
            raise BrokenFileError(
                "contradictory-roles", f"needs {path.name}, which has two target_loc of {'/'.join(key)}"
            )
    return targets


READS = {"bbq-jsonl": parse_bbq, "mbbq-jsonl": parse_mbbq}
