"""The conformance check of benchmarks."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from tiltmeter.benchmarks.benchmark import Benchmark, PartTrials, Score, Trial, UnsupportedPart
from tiltmeter.forms import Form
from tiltmeter.questions import Answer, Question, Tokenizer
from tiltmeter.testing.requirement import Require, build_requirement

_WHOLE = "all"


def check_benchmark(benchmark: Benchmark, form: Form[Any], items: Sequence[Any], texts: Sequence[Tokenizer]) -> None:
    """Check a benchmark with its form, some items, and the tokenizers (`model.text`) of several kinds of models.

    The checks: Every item has questions or is listed as skipped. Questions are well formed and do not depend on the
    order of the items. If `item_by_item` is true, the questions of an item do not depend on other items. Scores are
    finite and depend only on the answers. The options of a choice have different roles. Perturbations keep the class,
    id and language of an item.
    """
    require = build_requirement(f"benchmark of {benchmark.form!r}")
    require(items and texts, "give at least one item and one tokenizer")
    require(benchmark.protocols, "it has no protocol")
    require(form.name == benchmark.form, f"its form is not {form.name!r}, the given form")
    asked = 0
    for text, protocol in product(texts, benchmark.protocols):
        for part, some in _group_portions(benchmark, form, items, text):
            asked += _check_protocol(require, benchmark, some, text, part, protocol)
    require(asked, "none of its protocols works with any of the tokenizers")
    for item in items:
        _check_item(require, benchmark, item)


def _group_portions(
    benchmark: Benchmark, form: Form[Any], items: Sequence[Any], text: Tokenizer
) -> Iterator[tuple[str, list[Any]]]:
    """Group the items by part and language, as a run does; yield the name of the part and the items of each group."""
    parts = benchmark.parts(text.kind)
    portions: dict[tuple[str, str], list[Any]] = {}
    for item in items:
        for part in parts or (form.part_of(item) or _WHOLE,):
            portions.setdefault((part, item.language), []).append(item)
    for (part, _), some in portions.items():
        yield part, some


def _check_protocol(
    require: Require, benchmark: Benchmark, items: Sequence[Any], text: Tokenizer, part: str, protocol: str
) -> bool:
    """Check the questions of a protocol; return False if the protocol does not support this tokenizer."""
    try:
        asked = benchmark.ask(part, list(items), text, protocol=protocol)
    except UnsupportedPart:
        return False
    where = f"{protocol!r} for a {text.kind} model"
    require(isinstance(asked, PartTrials), f"{where}: ask returns {type(asked).__name__} instead of PartTrials")
    accounted = {trial.item.id for trial in asked.trials} | {one.item for one in asked.skipped} | set(asked.too_long)
    lost = {item.id for item in items} - accounted
    require(not lost, f"{where}: {', '.join(sorted(lost))} has no questions and is not listed as skipped")
    same = benchmark.ask(part, list(items)[::-1], text, protocol=protocol)
    require(_list_digests(asked) == _list_digests(same), f"{where}: the questions depend on the order of the items")
    if benchmark.item_by_item(items):
        single = [benchmark.ask(part, [item], text, protocol=protocol) for item in items]
        together = {item: digests for one in single for item, digests in _list_digests(one).items()}
        require(_list_digests(asked) == together, f"{where}: item_by_item is true, but questions depend on other items")
    for trial in asked.trials:
        _check_trial(require, trial, where)
    return True


def _check_trial(require: Require, trial: Trial, where: str) -> None:
    label = f"{where}, item {trial.item.id}"
    require(trial.questions, f"{label}: a trial has no question")
    for question in trial.questions:
        _check_question(require, question, label)
    answers = [_make_answer(question) for question in trial.questions]
    scores = trial.score(answers)
    require(scores and all(isinstance(score, Score) for score in scores), f"{label}: score returns {scores!r}")
    require(scores == trial.score(answers), f"{label}: the same answers have different scores the second time")
    for score in scores:
        require(isinstance(score.role, str) and score.role, f"{label}: the role {score.role!r} is not a text")
        require(math.isfinite(score.score), f"{label}: the score of {score.role!r} is {score.score}")
    keys = [(score.candidate, score.role) for score in scores]
    require(len(set(keys)) == len(keys), f"{label}: a candidate has two scores with the same role")


def _check_question(require: Require, question: Question, label: str) -> None:
    require(question.ids and question.wanted, f"{label}: a question has no tokens or no wanted tokens")
    for position, token in question.wanted:
        require(0 <= position < len(question.ids), f"{label}: position {position} is outside the question's tokens")
        require(token >= 0, f"{label}: the token id {token} is negative")
    require(len(question.segments) in (0, len(question.ids)), f"{label}: the numbers of segments and tokens differ")


def _check_item(require: Require, benchmark: Benchmark, item: Any) -> None:
    for name, perturb in benchmark.perturbations.items():
        changed = perturb(item)
        same = (type(changed), changed.id, changed.language) == (type(item), item.id, item.language)
        require(same, f"the perturbation {name!r} changes the class, id or language of {item.id}")
    if benchmark.choice is None:
        return
    try:
        choice = benchmark.choice(item)
    except UnsupportedPart:
        return
    roles = [option.role for option in choice.options]
    require(len(roles) >= 2 and len(set(roles)) == len(roles), f"the options of {item.id} have the roles {roles}")
    require(all(option.text.strip() for option in choice.options), f"an option of {item.id} has no text")


def _list_digests(asked: PartTrials) -> dict[str, list[list[bytes]]]:
    digests: dict[str, list[list[bytes]]] = {}
    for trial in asked.trials:
        digests.setdefault(trial.item.id, []).append([question.digest for question in trial.questions])
    return digests


def _make_answer(question: Question) -> Answer:
    """Return random numbers as an answer of the right size, with second numbers (`WantedQuantity`) if requested."""
    rng = np.random.default_rng(int.from_bytes(question.digest[:4]))
    count = len(question.wanted)
    numbers = [-rng.uniform(0.5, 9.0, count), rng.uniform(0.1, 0.9, count)][: question.want.rows]
    return np.concatenate(numbers).astype(np.float32)
