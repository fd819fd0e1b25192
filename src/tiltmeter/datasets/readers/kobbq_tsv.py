"""Reader of KoBBQ, the Korean version of BBQ: tab-separated files with the three answers as a list.

The stereotypical answer is in the column `biased_answer`. An id such as `age-001a-002-amb-bsd` has five parts:
category, template with variant, people, condition (ambiguous or disambiguated), and whether the question is biased or
counter-biased. In the file of all samples, ids have a sixth part: the order of the answers.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.answer_roles import (
    RowError,
    build_answer_values,
    convert_records,
    find_unknown_answer,
    parse_literal,
    parse_texts,
)
from tiltmeter.datasets.readers.csv_records import read_records
from tiltmeter.forms.multiple_choice import AMBIGUOUS, DISAMBIGUATED

UNKNOWN = frozenset({"알 수 없음", "알수없음", "정답 없음"})
_COLUMNS = ("sample_id", "label_annotation", "context", "question", "choices", "biased_answer", "answer")
_ID = re.compile(r"(?P<category>\w+)-(?P<template>\d+)[a-z]-\w+-(?P<part>amb|dis)-(?P<polarity>bsd|cnt)(-.+)?")


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of `KoBBQ_test_samples.tsv` or `KoBBQ_all_samples.tsv`."""
    columns = {column: column for column in _COLUMNS}
    rows = read_records(path, columns, lambda _number, fields: fields, delimiter="\t")
    return convert_records(rows, lambda fields: _build_values(fields, language))


def _build_values(fields: Mapping[str, object], language: str) -> dict[str, object]:
    id_ = _ID.fullmatch(str(fields["sample_id"]))
    if id_ is None:
        message = f"must have the format age-001a-002-amb-bsd, not {fields['sample_id']!r}"
        raise RowError("contradictory-roles", "sample_id", message)
    choices = parse_texts(parse_literal(fields["choices"], "choices"), "choices")
    biased, answer = fields["biased_answer"], fields["answer"]
    unknown = find_unknown_answer([choice in UNKNOWN for choice in choices])
    for name, text in (("biased_answer", biased), ("answer", answer)):
        if choices.count(str(text)) != 1:
            raise RowError("contradictory-roles", name, f"must be one of the choices, not {text!r}")
    if biased in UNKNOWN:
        raise RowError("contradictory-roles", "biased_answer", 'must not be the answer "unknown"')
    answers = build_answer_values(choices, unknown, choices.index(str(biased)), choices.index(str(answer)))
    return answers | {
        "id": fields["sample_id"],
        "language": language,
        "part": AMBIGUOUS if id_["part"] == "amb" else DISAMBIGUATED,
        "polarity": "negative" if id_["polarity"] == "bsd" else "non-negative",
        "bias_type": id_["category"],
        "template": f"{id_['category']}-{id_['template']}",
        "context": fields["context"],
        "question": fields["question"],
        "label": fields["label_annotation"],
    }


READS = {"kobbq-tsv": parse}
