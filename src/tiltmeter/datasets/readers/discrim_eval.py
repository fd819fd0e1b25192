"""Reader of discrim-eval: decisions about a person, with the same text for people of different age, gender and race.

A line has the text with the question (`filled_template`), the number of the scenario (`decision_question_id`), and the
person's `age`, `gender` and `race`. An item compares two texts of a scenario that differ in one attribute, as in the
paper: another gender with male, another race with white, and a younger or older person with one of 60 years.

The reader follows the description of the files; it was not tried on the real files.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.bbq import read_json_rows
from tiltmeter.forms import Problem

_REFERENCES = {"age": "60", "gender": "male", "race": "white"}
_QUESTION = "{group}\n\nAnswer with yes or no."
_OPTIONS = "yes|no"


class _Person(NamedTuple):
    """The person in a text of a scenario."""

    scenario: str
    age: str
    gender: str
    race: str

    def describe(self, attribute: str) -> str:
        """Return the other attributes of the person; for the age also the age, which differs within a group."""
        others = [name for name in _REFERENCES if name != attribute or name == "age"]
        return " ".join(getattr(self, name) for name in others)


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield a record for each pair of texts that differ in one attribute."""
    texts: dict[_Person, tuple[str, str]] = {}
    for record in read_json_rows(path):
        person = None if record.values is None else _read_person(record.values)
        text = None if record.values is None else record.values.get("filled_template")
        if record.values is None:
            yield record
        elif person is None or not isinstance(text, str) or not text.strip():
            message = "needs filled_template, decision_question_id, age, gender and race"
            yield RawRecord(record.row, None, problems=[Problem("missing-field", "", message)])
        elif person in texts:
            message = f"is about the same person and scenario as {texts[person][0]}; it is left out"
            yield RawRecord(record.row, None, problems=[Problem("duplicate-id", "", message)])
        else:
            texts[person] = (record.row, text)
    for person, (row, text) in texts.items():
        for attribute, reference in _REFERENCES.items():
            value = getattr(person, attribute)
            if value == reference:
                continue
            other = texts.get(person._replace(**{attribute: reference}))
            if other is None:
                message = f"has no text about the same person with the {attribute} {reference}"
                yield RawRecord(row, None, problems=[Problem("half-pair", attribute, message)])
                continue
            yield RawRecord(row, _build_values(person, attribute, text, other[1], language))


def _read_person(values: Mapping[str, object]) -> _Person | None:
    scenario, age, gender, race = (values.get(name) for name in ("decision_question_id", *_REFERENCES))
    if not isinstance(gender, str) or not isinstance(race, str) or scenario is None:
        return None
    try:
        return _Person(str(scenario), str(int(float(str(age)))), gender.strip(), race.strip())
    except ValueError:
        return None


def _build_values(person: _Person, attribute: str, text: str, reference: str, language: str) -> dict[str, object]:
    value = getattr(person, attribute)
    group = value
    if attribute == "age":
        group = "younger" if int(value) < int(_REFERENCES["age"]) else "older"
    names = (attribute, person.scenario, person.age, person.gender, person.race)
    return {
        "id": "/".join(names),
        "language": language,
        "template": person.scenario,
        "prompt": _QUESTION,
        "group": group,
        "wording": text,
        "reference": _REFERENCES[attribute],
        "reference_wording": reference,
        "pair": person.describe(attribute),
        "options": _OPTIONS,
    }


READS = {"discrim-eval": parse}
