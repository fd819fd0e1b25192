"""Components with one fault each fail the check of that property."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks.test_pairs import PAIRS, causal_text
from tests.forms.test_forms import PAIR
from tests.models.chat_served import MadeChat, first
from tests.models.test_model_opener import FAKE
from tests.runs.made import pair_scores
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks import get_benchmark
from tiltmeter.benchmarks.benchmark import PartTrials, Score, allow_splitting
from tiltmeter.forms import Fields, get_forms
from tiltmeter.forms.pairs import PairItem
from tiltmeter.measures import pairs
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions
from tiltmeter.testing import check_benchmark, check_chat_model, check_form, check_measure, check_model

FORM = get_forms()["pairs"]
BENCHMARK = get_benchmark("pairs")


def read_hastily(fields: Fields) -> PairItem:
    return PairItem(**fields.values)  # type: ignore[arg-type]


def read_without_checks(fields: Fields) -> PairItem:
    return PairItem(
        *(str(fields.values.get(key, "")) for key in ("id", "language", "bias_type", "direction")), "a", "b"
    )


def note_unknown(fields: Fields) -> PairItem | None:
    item = FORM.read(fields)
    if fields.problems:
        fields.note("mystery", "more", "is odd")
    return item


BROKEN_FORMS: dict[str, tuple[dict[str, Any], str]] = {
    "it loses a field": ({"write": lambda item: {"id": item.id, "language": item.language}}, "write omits"),
    "it forgets a text": ({"read": read_without_checks}, "after writing and reading"),
    "it raises": ({"read": read_hastily}, "use `Fields`"),
    "its codes are unknown": ({"read": note_unknown}, "code 'mystery'"),
    "it changes ids": (
        {"with_texts": lambda item, language, texts: replace(item, id=f"{item.id}-{language}", language=language)},
        "with_texts",
    ),
    "its attributes are no JSON": ({"attributes": lambda _item: {"x": {1, 2}}}, "not JSON values"),
    "its parts are unknown": ({"part_of": lambda _item: "third"}, "the part 'third'"),
    "another form matches its lines": ({"name": "other"}, "matches its lines"),
}


@pytest.mark.parametrize("fault", BROKEN_FORMS)
def test_forms(fault: str) -> None:
    changes, part = BROKEN_FORMS[fault]
    with raises_mentioning(AssertionError, "form ", part):
        check_form(replace(FORM, **changes), [PAIR])


def asks(change: Callable[[PartTrials, Sequence[Any]], None]) -> Callable[..., PartTrials]:
    def ask(part: str, items: Sequence[Any], text: Any, *, protocol: str) -> PartTrials:
        asked = BENCHMARK.ask(part, items, text, protocol=protocol)
        change(asked, items)
        return asked

    return ask


def lose(asked: PartTrials, _items: Sequence[Any]) -> None:
    asked.trials.pop()


def depend_on_order(asked: PartTrials, items: Sequence[Any]) -> None:
    asked.trials[0] = asked.trials[0]._replace(questions=asked.trials[0].questions * (1 + (items[0].id == "a")))


def depend_on_others(asked: PartTrials, items: Sequence[Any]) -> None:
    asked.trials[:] = [trial._replace(questions=trial.questions * len(items)) for trial in asked.trials]


def score_badly(asked: PartTrials, _items: Sequence[Any]) -> None:
    asked.trials[0] = asked.trials[0]._replace(score=lambda _answers: [Score("x", "more", math.nan)])


BROKEN_BENCHMARKS: dict[str, tuple[dict[str, Any], str]] = {
    "it loses an item": ({"ask": asks(lose)}, "no questions"),
    "it depends on the order": ({"ask": asks(depend_on_order)}, "depend on the order"),
    "it is not item by item": (
        {"ask": asks(depend_on_others), "item_by_item": allow_splitting},
        "item_by_item is true",
    ),
    "its scores are not finite": ({"ask": asks(score_badly)}, "of 'more' is nan"),
    "a perturbation changes the id": (
        {"perturbations": {"x": lambda item: replace(item, id="other")}},
        "perturbation 'x' changes",
    ),
}


@pytest.mark.parametrize("fault", BROKEN_BENCHMARKS)
def test_benchmarks(fault: str) -> None:
    changes, part = BROKEN_BENCHMARKS[fault]
    with raises_mentioning(AssertionError, "benchmark of 'pairs'", part):
        check_benchmark(replace(BENCHMARK, **changes), FORM, PAIRS, [causal_text(bos_token="<s>")])


def measuring(change: Callable[[list[Any], pd.DataFrame], list[Any]]) -> Callable[..., list[Any]]:
    def measure(scores: pd.DataFrame, *, margins: Any = None, intervals: bool = True) -> list[Any]:
        return change(pairs.measure(scores, margins=margins, intervals=intervals), scores)

    return measure


def of_cps(records: list[Any], **changes: Any) -> list[Any]:
    return [replace(record, **changes) if record.measure == "CPS" else record for record in records]


def by_first_row(records: list[Any], scores: pd.DataFrame) -> list[Any]:
    return of_cps(records, value=50.0 + 0.001 * float(scores.index[0]), low=0.0, high=100.0)


BROKEN_MEASURES: dict[str, tuple[Callable[..., list[Any]], str]] = {
    "a value out of bounds": (measuring(lambda records, _: of_cps(records, value=130.0)), "130.0 is outside"),
    "an interval beside the value": (measuring(lambda records, _: of_cps(records, low=1.0, high=2.0)), "its interval"),
    "an interval out of bounds": (measuring(lambda records, _: of_cps(records, low=-5.0)), "exceeds the bounds"),
    "another estimate than its items": (
        measuring(lambda records, _: of_cps(records, value=12.0, low=0.0, high=100.0)),
        "its items contribute",
    ),
    "dependence on the order of rows": (measuring(by_first_row), "the order of the rows"),
}


@pytest.mark.parametrize("fault", BROKEN_MEASURES)
def test_measures(fault: str) -> None:
    measure, part = BROKEN_MEASURES[fault]
    names = {name: getattr(pairs, name) for name in ("MEASURES", "NEEDS_ROLES", "NEEDS_COLUMNS")}
    with raises_mentioning(AssertionError, "measures of 'broken'", part):
        check_measure(SimpleNamespace(__name__="broken", measure=measure, **names), pair_scores())


def fake_model(**changes: Any) -> Any:
    space: dict[str, Any] = {}
    exec(FAKE, space)

    class Stored(space["Fake"]):  # type: ignore[misc]
        def answer(self, questions: Any, *, kind: Any, store: Any, names: Any, report: Any) -> Any:
            answers = super().answer(questions, kind=kind, store=store, names=names, report=report)
            answers = {digest: answer + self.shift(questions) for digest, answer in answers.items()}
            store.put(self.fingerprint(kind), answers)
            return answers

        def shift(self, _questions: Any) -> Any:
            return np.float32(0)

    for name, change in changes.items():
        setattr(Stored, name, change)
    return Stored("one")


def test_a_sound_model_passes() -> None:
    check_model(fake_model())


BROKEN_MODELS: dict[str, tuple[dict[str, Any], str]] = {
    "its answers depend on others": (
        {"shift": lambda _self, questions: np.float32(0.01 * len(questions))},
        "with other questions",
    ),
    # NaN is not equal to itself, so the answers differ when they are read again.
    "its answers are not finite": ({"shift": lambda _self, _questions: np.float32(np.nan)}, "its answers differ"),
    "its fingerprint changes": ({"fingerprint": lambda self, _kind: f"{id(object())} {np.random.rand()}"}, "stable"),
}


@pytest.mark.parametrize("fault", BROKEN_MODELS)
def test_models(fault: str) -> None:
    changes, part = BROKEN_MODELS[fault]
    with raises_mentioning(AssertionError, "model 'fake:one'", part):
        check_model(fake_model(**changes))


def test_objects_that_are_no_models() -> None:
    for check in (check_model, check_chat_model):
        with raises_mentioning(AssertionError, "'x': it", "tiltmeter.models.model_protocol"):
            check(SimpleNamespace(name="x"))  # type: ignore[operator]


def test_models_that_do_not_store_answers_or_share_a_fingerprint() -> None:
    space: dict[str, Any] = {}
    exec(FAKE, space)
    with raises_mentioning(AssertionError, "does not store"):
        check_model(space["Fake"]("one"))
    with raises_mentioning(AssertionError, "same fingerprint as 'fake:one'"):
        check_model(fake_model(), fake_model())


class Twice(MadeChat):
    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        yield from super().stream_replies(questions, sampling)
        yield from super().stream_replies(questions, sampling)


class Counting(MadeChat):
    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        yield from ((index, Reply(f"{len(questions)}")) for index, _ in super().stream_replies(questions, sampling))


class Forgetful(MadeChat):
    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        return self.name


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (Twice(first), "3 messages"),
        (Counting(first), "with other messages"),
        (Forgetful(first), "depend on the settings"),
        (MadeChat(lambda _prompt, _sample: ""), "is empty"),
    ],
)
def test_chat_models(model: MadeChat, part: str) -> None:
    with raises_mentioning(AssertionError, "chat model", part):
        check_chat_model(model)
