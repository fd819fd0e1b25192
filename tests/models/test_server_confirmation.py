"""Served models that change during a run, or between two runs: no answer of another model is stored."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import tiltmeter
from tests.models.served import Served, serving, train
from tests.support.messages import raises_mentioning
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import ModelError
from tiltmeter.models import server_confirmation
from tiltmeter.models.endpoint import EndpointModel
from tiltmeter.models.model_opener import open_given_model
from tiltmeter.models.server_confirmation import KnownAnswer, compare_answers, compute_detection_probability
from tiltmeter.options import ModelOptions
from tiltmeter.questions import Answer, Question

QUESTIONS = [
    Question((0, first, second, 9), ((0, first), (1, second), (2, 9)))
    for first in range(5, 15)
    for second in range(20, 30)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def store() -> Iterator[AnswerStore]:
    with AnswerStore(":memory:") as opened:
        yield opened


@pytest.fixture
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_confirmation, "WINDOW", 30)
    monkeypatch.setattr(server_confirmation, "REPEATED", 8)


def opened(address: str, folder: Path, cache: Path, concurrency: int = 4) -> EndpointModel:
    options = ModelOptions(tokenizer=str(folder), cache=cache, concurrency=concurrency)
    model = open_given_model(f"openai:tiny@{address}", options)
    assert isinstance(model, EndpointModel)
    model.client.pauses = (0.01,)
    return model


def answers(model: EndpointModel, store: AnswerStore) -> Mapping[bytes, Answer]:
    return model.answer(QUESTIONS, kind="causal", store=store, names={}, report=lambda _progress: None)


def stored(model: EndpointModel, store: AnswerStore) -> dict[bytes, Answer]:
    return store.get(model.fingerprint("causal"), [question.digest for question in QUESTIONS])


@pytest.fixture(scope="module")
def truth(folder: Path) -> dict[bytes, Answer]:
    """The answers of the server's first model."""
    served = Served(folder)
    return {
        question.digest: np.array(served._compute_log_probs(list(question.ids))[0][1:], np.float32)
        for question in QUESTIONS
    }


def assert_all_true(found: Mapping[bytes, Answer], truth: Mapping[bytes, Answer]) -> None:
    for digest, answer in found.items():
        np.testing.assert_allclose(answer, truth[digest], atol=0.05)


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize(("after", "concurrency"), [(1, 8), (29, 1), (45, 8), (110, 1)])
def test_a_model_that_changes_in_a_run_stops_it(
    folder: Path, truth: dict[bytes, Answer], tmp_path: Path, store: AnswerStore, after: int, concurrency: int
) -> None:
    served = Served(folder)
    with serving(served) as address:
        model = opened(address, folder, tmp_path, concurrency)
        model.fingerprint("causal")
        served.changes_after = len(served.bodies) + after
        with raises_mentioning(ModelError, address, "changed", "discarded", "kept"):
            answers(model, store)
        kept = stored(model, store)
        served.changes_after = None
        before = len(served.bodies)
        resumed = opened(address, folder, tmp_path)
        found = answers(resumed, store)
        # A window of 30 texts and the 16 + 8 that confirm it.
        assert len(kept) == 30 * (after // 54)
        assert len(found) == len(QUESTIONS)
        assert resumed.fingerprint("causal") == model.fingerprint("causal")
        asked = [tuple(body["prompt"]) for body in served.bodies[before:]]
        assert sum(question.ids in asked for question in QUESTIONS) < len(QUESTIONS) - len(kept) + 9
    assert_all_true(found, truth)


@pytest.mark.usefixtures("short_windows")
def test_a_model_that_changes_on_some_texts_only(folder: Path, tmp_path: Path, store: AnswerStore) -> None:
    """The probes of the self-test stay the same; a third of the run's texts change."""
    served = Served(folder)
    served.changed = lambda ids: len(ids) == 4 and ids[1] % 3 == 0
    with serving(served) as address:
        model = opened(address, folder, tmp_path)
        model.fingerprint("causal")
        served.changes_after = len(served.bodies) + 20
        model._confirmation._random.seed(1)
        with raises_mentioning(ModelError, address, "changed", "discarded"):
            answers(model, store)
        assert not stored(model, store)


def test_stored_answers_of_a_model_with_the_same_probes_are_not_used(
    folder: Path, tmp_path: Path, store: AnswerStore
) -> None:
    served = Served(folder)
    served.changed = lambda ids: len(ids) == 4
    with serving(served) as address:
        first = opened(address, folder, tmp_path)
        of_first = answers(first, store)
        served.changes_after = 0
        second = opened(address, folder, tmp_path)
        of_second = answers(second, store)
        assert second.fingerprint("causal") != first.fingerprint("causal")
        assert all(np.abs(of_first[digest] - of_second[digest]).max() > 0.05 for digest in of_first)
        served.changes_after = None
        back = opened(address, folder, tmp_path)
        before = len(served.bodies)
        assert_all_true(answers(back, store), of_first)
        assert back.fingerprint("causal") == first.fingerprint("causal")
        # The self-test, and a sample of the answers of both models that are stored.
        assert len(served.bodies) - before < 50 + 3 * 32


@pytest.mark.usefixtures("short_windows")
def test_noise_does_not_stop_a_run(folder: Path, tmp_path: Path, store: AnswerStore) -> None:
    with serving(Served(folder, "a little noise")) as address:
        model = opened(address, folder, tmp_path)
        assert len(answers(model, store)) == len(QUESTIONS)
        assert len(stored(model, store)) == len(QUESTIONS)
        described = model.describe()
    assert described["confirmation"]["confirmations"] == 4
    assert 1e-4 < described["noise"] < 0.05


def test_a_value_that_jumps_once_is_noise() -> None:
    question = Question((0, 5), ((0, 5),))
    values = iter([-1.2, -1.0, -1.2, -1.2])

    def ask(_questions: object) -> dict[bytes, Answer]:
        return {question.digest: np.array([next(values)], np.float32)}

    known = [KnownAnswer(question, np.array([-1.0], np.float32))]
    assert compare_answers(ask, known).changed == 0
    assert compare_answers(ask, known).changed == 1


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize("after", [12, 35])
def test_answers_before_a_failure_are_confirmed_by_the_next_run(
    folder: Path, tmp_path: Path, store: AnswerStore, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """The server dies in the middle of a window, and in the middle of a confirmation."""
    served = Served(folder)
    with serving(served) as address:
        model = opened(address, folder, tmp_path, concurrency=1)
        model.fingerprint("causal")
        served.dies_after = len(served.bodies) + after
        with raises_mentioning(ModelError, address, "2 times"):
            answers(model, store)
        assert not stored(model, store)
        served.dies_after = None
        resumed = opened(address, folder, tmp_path)
        resumed.fingerprint("causal")
        before = len(served.bodies)
        assert len(answers(resumed, store)) == len(QUESTIONS)
        asked = {tuple(body["prompt"]) for body in served.bodies[before:]}
        assert len({question.ids for question in QUESTIONS} & asked) <= len(QUESTIONS) - min(after, 30) + 8


@pytest.mark.usefixtures("short_windows")
def test_answers_before_a_failure_are_discarded_if_the_last_ones_differ(
    folder: Path, truth: dict[bytes, Answer], tmp_path: Path, store: AnswerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another model gave the last three answers before the server died; the first model comes back."""
    served = Served(folder)
    with serving(served) as address:
        model = opened(address, folder, tmp_path, concurrency=1)
        model.fingerprint("causal")
        served.changes_after = len(served.bodies) + 20
        served.dies_after = len(served.bodies) + 23
        with raises_mentioning(ModelError, address, "2 times"):
            answers(model, store)
        served.dies_after = served.changes_after = None
        found = answers(opened(address, folder, tmp_path), store)
    assert_all_true(found, truth)


def test_the_manifest_says_what_was_confirmed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path))
    with serving(Served(folder)) as address:
        name = f"openai:tiny@{address}"
        result = tiltmeter.evaluate(name, "starter/intrasentence:en", tokenizer=str(folder))
    described = result.manifest.models[0].details["confirmation"]
    assert described["confirmations"] >= 1
    assert described["items"] == server_confirmation.REPEATED
    assert described["noticed"]["10%"] == round(compute_detection_probability(0.1, server_confirmation.REPEATED), 3)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_the_probability_of_noticing_a_change(share: float) -> None:
    """Against a simulation of what a confirmation does: a random sample of a run's questions."""
    draws = np.random.default_rng(1)
    changed = np.arange(2000) < share * 2000
    noticed = [draws.choice(changed, server_confirmation.REPEATED, replace=False).any() for _ in range(4000)]
    assert abs(np.mean(noticed) - compute_detection_probability(share, server_confirmation.REPEATED)) < 0.03
