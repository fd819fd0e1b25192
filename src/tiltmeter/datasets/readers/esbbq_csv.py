"""Reader of EsBBQ and CaBBQ.

The third answer is only the placeholder `unknown`, which the authors fill with nine wordings at once, any of which
counts. Here every template gets one wording, by its number, so that there are three answers as in BBQ.
The group of a person is the last word of the label, and the column `question_type` has to agree with it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.answer_roles import (
    PARTS,
    POLARITIES,
    RowError,
    build_answer_values,
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
_RIGHT = {"pro-stereo": "stereotype", "anti-stereo": "anti-stereotype"}
_NAMES = {"part": "context_condition", "polarity": "question_polarity", "bias_type": "category"}


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of a file such as `Age.full.csv`."""
    columns = {column: column for column in _COLUMNS}
    for record in read_records(path, columns, lambda _number, fields: fields):
        if record.values is None:
            yield record
            continue
        try:
            yield RawRecord(record.row, _build_values({**record.values}.__getitem__, language), _NAMES)
        except RowError as error:
            yield error.record(record.row)


def _build_values(field: Callable[[str], object], language: str) -> dict[str, object]:
    groups = parse_texts(parse_literal(field("stereotyped_groups"), "stereotyped_groups"), "stereotyped_groups")
    labels = [
        parse_texts(parse_literal(field(name), name), name)[-1].split(",")[-1].strip()
        for name in (f"answer_info.ans{place}" for place in range(3))
    ]
    unknown = find_unknown_answer([label == PLACEHOLDER for label in labels])
    negative = field("question_polarity") == "neg"
    stereotype = find_stereotyped_answer([label in groups for label in labels], unknown, negative=negative)
    template = str(field("template_id"))
    texts = [field(f"ans{place}") for place in range(3)]
    if texts[unknown] == PLACEHOLDER:
        if language not in UNKNOWN:
            raise RowError("bad-language", "", f"has no wording for {PLACEHOLDER!r} in {language}; there is es and ca")
        number = int(template) if template.isdigit() else len(template)
        texts[unknown] = UNKNOWN[language][number % len(UNKNOWN[language])]
    label = str(field("label"))
    answers = build_answer_values(texts, unknown, stereotype, int(label) if label.isdigit() else label)
    expected = _RIGHT.get(str(field("question_type")), "unknown")
    if answers["correct"] != expected:
        message = f"says that {expected} is right, and the label and the groups that {answers['correct']} is"
        raise RowError("contradictory-roles", "question_type", message)
    condition, polarity, category = (field(name) for name in ("context_condition", "question_polarity", "category"))
    return answers | {
        "id": f"{category}/{field('instance_id')}",
        "language": language,
        "part": PARTS.get(str(condition), condition),
        "polarity": POLARITIES.get(str(polarity), polarity),
        "bias_type": category,
        "template": f"{category}/{template}",
        "context": field("context"),
        "question": field("question"),
        "label": field("template_label"),
    }


READS = {"esbbq-csv": parse}
