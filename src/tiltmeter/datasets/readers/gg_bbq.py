"""Reader of GG-BBQ, the German questions of BBQ about gender.

There is a file for ambiguous and a file for disambiguated contexts. The labels of the answers are the text of a Python
dictionary. For transgender people, the label is non_binary, but the stereotyped group is trans. The files do not name
templates. Items with the same question are assumed to have the same template. The negative and the non-negative
question about a context also have the same template; they follow each other in the file.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.answer_roles import (
    RowError,
    build_answer_values,
    convert_records,
    find_stereotyped_answer,
    find_unknown_answer,
    parse_literal,
    parse_texts,
)
from tiltmeter.datasets.readers.bbq import read_json_rows
from tiltmeter.forms.multiple_choice import AMBIGUOUS, DISAMBIGUATED

_PARTS = {"ambiguous_context": AMBIGUOUS, "disambiguous_context": DISAMBIGUATED}
_POLARITIES = {"negative": "negative", "non_negative": "non-negative"}
_NAMES = {"part": "context_type", "polarity": "question_type"}


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `bbq_de_amb_test.jsonl`."""
    negative: tuple[object, object] = (None, None)  # context and text of the last negative question

    def build_gg_bbq_values(values: Mapping[str, Any]) -> dict[str, object]:
        nonlocal negative
        if values.get("question_type") == "negative":
            negative = (values.get("context"), values.get("question"))
        template = negative[1] if negative[0] == values.get("context") else values.get("question")
        return _build_values(values, language, template)

    return convert_records(read_json_rows(path), build_gg_bbq_values, _NAMES)


def _build_values(values: Mapping[str, Any], language: str, template: object) -> dict[str, object]:
    info = parse_literal(values.get("choice_info"), "choice_info")
    if not isinstance(info, dict):
        raise RowError("wrong-type", "choice_info", "must be a dictionary of lists")
    labels = [parse_texts(info.get(index), "choice_info")[-1] for index in range(3)]
    try:
        groups = parse_texts(json.loads(str(values.get("known_stereotyped_groups"))), "known_stereotyped_groups")
    except (ValueError, RecursionError):
        raise RowError("bad-json", "known_stereotyped_groups", "must be a JSON list of texts") from None
    unknown = find_unknown_answer([label == "unknown" for label in labels])
    wanted = {*groups, *(["non_binary"] if "trans" in groups else [])}
    negative = values.get("question_type") == "negative"
    stereotype = find_stereotyped_answer([label in wanted for label in labels], unknown, negative=negative)
    condition, polarity = values.get("context_type"), values.get("question_type")
    part = _PARTS.get(str(condition), condition)
    fields: dict[str, object] = {
        "id": f"{part}/{values.get('index')}",
        "language": language,
        "part": part,
        "polarity": _POLARITIES.get(str(polarity), polarity),
        "bias_type": "gender identity" if "trans" in groups else "gender",
        "template": template,
    }
    fields |= {name: values[name] for name in ("context", "question") if name in values}
    texts = [values.get(f"choice_{index}") for index in range(3)]
    return fields | build_answer_values(texts, unknown, stereotype, values.get("label"))


READS = {"gg-bbq-jsonl": parse}
