"""Reader of EsBBQ and CaBBQ, the Spanish and Catalan versions of BBQ.

In the files, the third answer is the placeholder `unknown`, for which the authors accept nine wordings. This reader
replaces it by one of five wordings, which the number of the template selects, so that there are three answers as in
BBQ. The group of a person is the last part of the person's label; the column `question_type` must agree with the group.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.answer_roles import (
    PARTS,
    POLARITIES,
    RowError,
    build_answer_values,
    convert_records,
    find_stereotyped_answer,
    find_unknown_answer,
    parse_literal,
    parse_texts,
)
from tiltmeter.datasets.readers.csv_records import read_records

PLACEHOLDER = "unknown"
UNKNOWN = {
    "es": (
        "No se sabe",
        "No se puede saber",
        "No hay información suficiente",
        "No se puede determinar",
        "Se desconoce",
    ),
    "ca": ("No se sap", "No es pot saber", "No hi ha prou informació", "No es pot determinar", "Es desconeix"),
}
_COLUMNS = (
    *("instance_id", "template_id", "template_label", "question_polarity", "context_condition", "category", "label"),
    *("stereotyped_groups", "context", "question", "ans0", "ans1", "ans2", "question_type"),
    *("answer_info.ans0", "answer_info.ans1", "answer_info.ans2"),
)
_CORRECT = {"pro-stereo": "stereotype", "anti-stereo": "anti-stereotype"}
_NAMES = {"part": "context_condition", "polarity": "question_polarity", "bias_type": "category"}


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `Age.full.csv`."""
    columns = {column: column for column in _COLUMNS}
    rows = read_records(path, columns, lambda _number, fields: fields)
    return convert_records(rows, lambda fields: _build_values(fields, language), _NAMES)


def _build_values(fields: Mapping[str, Any], language: str) -> dict[str, object]:
    groups = parse_texts(parse_literal(fields["stereotyped_groups"], "stereotyped_groups"), "stereotyped_groups")
    labels = [
        parse_texts(parse_literal(fields[name], name), name)[-1].split(",")[-1].strip()
        for name in (f"answer_info.ans{index}" for index in range(3))
    ]
    unknown = find_unknown_answer([label == PLACEHOLDER for label in labels])
    negative = fields["question_polarity"] == "neg"
    stereotype = find_stereotyped_answer([label in groups for label in labels], unknown, negative=negative)
    template = str(fields["template_id"])
    texts = [fields[f"ans{index}"] for index in range(3)]
    if texts[unknown] == PLACEHOLDER:
        if language not in UNKNOWN:
            raise RowError(
                "bad-language", "", f"has no wording for {PLACEHOLDER!r} in {language}; the languages are es and ca"
            )
        number = int(template) if template.isdigit() else len(template)
        texts[unknown] = UNKNOWN[language][number % len(UNKNOWN[language])]
    label = str(fields["label"])
    answers = build_answer_values(texts, unknown, stereotype, int(label) if label.isdigit() else label)
    expected = _CORRECT.get(str(fields["question_type"]), "unknown")
    if answers["correct"] != expected:
        message = f"says that the correct answer is {expected}, but by `label` it is {answers['correct']}"
        raise RowError("contradictory-roles", "question_type", message)
    condition, polarity, category = (fields[name] for name in ("context_condition", "question_polarity", "category"))
    return answers | {
        "id": f"{category}/{fields['instance_id']}",
        "language": language,
        "part": PARTS.get(str(condition), condition),
        "polarity": POLARITIES.get(str(polarity), polarity),
        "bias_type": category,
        "template": f"{category}/{template}",
        "context": fields["context"],
        "question": fields["question"],
        "label": fields["template_label"],
    }


READS = {"esbbq-csv": parse}
