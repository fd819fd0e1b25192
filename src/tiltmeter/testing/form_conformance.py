"""The conformance check of forms."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from tiltmeter.datasets import validation_findings
from tiltmeter.forms import Fields, Form, ItemText, Problem, get_forms
from tiltmeter.testing.requirement import Require, build_requirement, is_json_object

# A value that is invalid for every field of every form.
_WRONG = {"unexpected": [1]}


def check_form(form: Form[Any], items: Sequence[Any]) -> None:
    """Check a form with example items of every possible shape.

    The checks: Items do not change when they are written to JSONL and read again. Lines with missing, empty or wrong
    fields raise no exception but give findings, and each code of a finding has an explanation. Translated items keep
    their id. No other form matches the lines as well as this form.
    """
    require = build_requirement(f"form {form.name!r}")
    require(items, "give at least one item")
    require(len({(item.id, item.language) for item in items}) == len(items), "the ids of the examples are not unique")
    for key in (*form.optional, *form.distinctive):
        require(key in form.keys, f"{key!r} is in `optional` or `distinctive`, but not in `keys`")
    for item in items:
        _check_class(require, form, item)
        _check_round_trip(require, form, item)
        _check_bad_fields(require, form, item)
        _check_translation(require, form, item)
        _check_display(require, form, item)


def _check_class(require: Require, form: Form[Any], item: Any) -> None:
    require(isinstance(item, form.item), f"{item!r} is not an instance of its class {form.item.__name__}")
    require(is_dataclass(item), f"{form.item.__name__} is not a dataclass")
    require(isinstance(hash(item), int), f"{form.item.__name__} cannot be hashed; make it a frozen dataclass")
    require(item.id and isinstance(item.id, str), f"the id {item.id!r} is not a text")


def _check_round_trip(require: Require, form: Form[Any], item: Any) -> None:
    written = form.write(item)
    require(list(written) == [key for key in form.keys if key in written], f"write has other keys: {list(written)}")
    missing = set(form.keys) - set(form.optional) - set(written)
    require(not missing, f"write omits {', '.join(sorted(missing))}, which is not optional")
    require(form.compute_match_score(written) is not None, "it does not match its own lines; check `distinctive`")
    score = form.compute_match_score(written) or 0
    for other in get_forms().values():
        claimed = other.compute_match_score(written) if other.name != form.name else None
        require(claimed is None or claimed < score, f"the form {other.name!r} matches its lines equally well")
    again, problems = _read_item(form, json.loads(json.dumps(written, ensure_ascii=False)))
    require(not problems, f"{written} cannot be read back: {[problem.message for problem in problems]}")
    require(again == item, f"{item!r} becomes {again!r} after writing and reading")


def _check_bad_fields(require: Require, form: Form[Any], item: Any) -> None:
    written = form.write(item)
    bad: list[tuple[str, dict[str, object]]] = []
    for key in written:
        others = {name: value for name, value in written.items() if name != key}
        if key not in form.optional:
            bad.append((f"without {key!r}", others))
            bad += [(f"with an empty {key!r}", {**others, key: " "})] if isinstance(written[key], str) else []
        bad.append((f"with the {key!r} {_WRONG}", {**others, key: _WRONG}))
    for change, values in bad:
        try:
            _, problems = _read_item(form, values)
        except Exception as error:
            require(False, f"reading a line {change} raises {type(error).__name__}: {error}; use `Fields`")
        require(problems, f"a line {change} gives no finding")
        _check_problems(require, form, problems)


def _check_problems(require: Require, form: Form[Any], problems: Sequence[Problem]) -> None:
    known = {
        **validation_findings.list_error_codes(),
        **validation_findings.list_warning_codes(),
        **form.errors,
        **form.warnings,
    }
    for problem in problems:
        require(problem.code in known, f"the code {problem.code!r} is missing in `errors` and `warnings`")
        require(problem.message, f"the finding {problem.code!r} has no message")


def _check_translation(require: Require, form: Form[Any], item: Any) -> None:
    texts = form.translatable(item)
    all_texts = dict(form.texts(item))
    for field, text in (*texts.items(), *all_texts.items()):
        require(isinstance(text, str) and text, f"the text of {field!r} is {text!r}; it must not be empty")
    if not texts:
        return
    same = form.translatable(form.with_texts(item, item.language, texts))
    require(same == texts, f"with_texts changes the item's own texts to {same!r}")
    other = form.with_texts(item, "xx", texts)
    require(other.id == item.id, "with_texts changes the id; translations of an item must keep it")
    require(other.language == "xx", "with_texts does not set the language")


def _check_display(require: Require, form: Form[Any], item: Any) -> None:
    shown, heading, attributes = form.shown(item), form.heading(item), form.attributes(item)
    require(isinstance(shown, ItemText), f"shown returns {type(shown).__name__} instead of ItemText")
    require(
        isinstance(heading, tuple) and all(isinstance(part, str) for part in heading), f"the heading is {heading!r}"
    )
    require(is_json_object(attributes), f"the attributes {attributes!r} are not JSON values")
    for name in form.numbers:
        require(isinstance(attributes.get(name, 0), int | float), f"the attribute {name!r} is not a number")
    part = form.part_of(item)
    require(part is None or part in form.parts, f"the part {part!r} of {item.id} is not in `parts` {form.parts}")
    _check_problems(require, form, list(form.lint(item)))


def _read_item(form: Form[Any], values: Mapping[str, object]) -> tuple[Any, list[Problem]]:
    read = form.from_json(values)
    if read.values is None:
        return None, list(read.problems)
    fields = Fields(read.values)
    item = form.read(fields)
    return item, [*read.problems, *fields.problems]
