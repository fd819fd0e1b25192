"""Chat servers that change their model during a run, or between two runs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.models.chat_served import ChatServer, biased, chance, chat_serving
from tests.runs.chosen import pairs_file
from tests.support.messages import raises_mentioning
from tiltmeter import ChatOptions, evaluate
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client import retries
from tiltmeter.questions import Reply
from tiltmeter.runs import chat_confirmation
from tiltmeter.runs.chat_confirmation import is_same_reply

TOWARDS, AWAY = biased(1.0), biased(0.0)


def stored(confirmed: bool) -> int:
    """Return the number of stored replies."""
    where = "NOT LIKE" if confirmed else "LIKE"
    with closing(sqlite3.connect(get_cache_folder() / "replies.sqlite")) as database:
        query = f"SELECT count(*) FROM replies WHERE fingerprint {where} '%unconfirmed'"
        return int(database.execute(query).fetchone()[0])


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a file of 30 pairs, for 120 messages."""
    return pairs_file(tmp_path, 30)


def test_a_server_that_names_another_model_stops_the_run(path: str) -> None:
    server = ChatServer(TOWARDS)
    server.changes_after, server.later_name = 50, "made-2"
    with chat_serving(server) as name:
        with raises_mentioning(ModelError, "made-2", "made-1", "TILTMETER_CACHE"):
            evaluate(name, path, concurrency=1)
        assert stored(confirmed=True) == 0
        assert stored(confirmed=False) == 50
        with raises_mentioning(ModelError, "made-2", "made-1"):
            evaluate(name, path, concurrency=1)


@pytest.mark.parametrize("window", [40, 400])
def test_a_server_with_other_replies_stops_the_run(path: str, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    monkeypatch.setattr(chat_confirmation, "WINDOW", window)
    monkeypatch.setattr(chat_confirmation, "_SHARE", 0.1)
    server = ChatServer(TOWARDS)
    server.changes_after, server.later = 70, AWAY
    with chat_serving(server) as name:
        with raises_mentioning(ModelError, "changed its model", "discarded"):
            evaluate(name, path, concurrency=4)
        assert stored(confirmed=True) == (40 if window == 40 else 0)
        assert stored(confirmed=False) == 0
        server.changes_after = None
        result = evaluate(name, path)
    assert result.answers is not None
    assert set(result.answers["outcome"]) == {"stereotype"}
    assert result.manifest.models[0].details["stored"] == (40 if window == 40 else 0)


def test_noise_does_not_stop_a_run(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tenth message has two replies that alternate by chance."""
    monkeypatch.setattr(chat_confirmation, "_SHARE", 0.1)
    server = ChatServer(TOWARDS)

    def noisy(prompt: str, _sample: int = 0) -> str:
        is_flipped = chance("noisy", prompt) < 0.1 and chance(len(server.answered), prompt) < 0.5
        return (AWAY if is_flipped else TOWARDS)(prompt, 0)

    server.policy = noisy
    with chat_serving(server) as name:
        result = evaluate(name, path)
    described = result.manifest.models[0].details["confirmation"]
    assert (described["confirmations"], described["items"]) == (1, 12)
    assert described["noticed"]["70%"] > 0.99


def test_replies_of_a_run_that_failed_are_confirmed_or_discarded(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "PAUSES", (0.0,))
    server = ChatServer(TOWARDS)
    server.dies_after = 60
    with chat_serving(server) as name:
        with raises_mentioning(ModelError, "kept"):
            evaluate(name, path, concurrency=1)
        assert (stored(confirmed=True), stored(confirmed=False)) == (0, 60)
        server.dies_after, server.policy = None, AWAY
        with raises_mentioning(ModelError, "changed its model", "60 replies"):
            evaluate(name, path)
        assert stored(confirmed=False) == 0
        result = evaluate(name, path)
    assert result.answers is not None
    assert set(result.answers["outcome"]) == {"anti-stereotype"}


def test_repeated_messages_are_in_the_budget(path: str) -> None:
    server = ChatServer(TOWARDS)
    messages: list[str] = []
    with chat_serving(server) as name:
        with raises_mentioning(UsageError, "125 requests", "Nothing was sent"):
            evaluate(name, path, chat=ChatOptions(max_requests=124))
        result = evaluate(name, path, chat=ChatOptions(max_requests=125), tell=messages.append)
    assert "125 requests" in messages[0]
    assert len(server.bodies) == 125
    assert result.manifest.models[0].details["tokens_in"] == 125 * 50


def test_samples_are_confirmed_at_temperature_0(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ChatServer(biased(0.5))
    with chat_serving(server) as name:
        evaluate(name, path, chat=ChatOptions(temperature=1.0), concurrency=1)
        temperatures = [body["temperature"] for body in server.bodies]
        assert (temperatures.count(0.0), temperatures.count(1.0)) == (10, 120)
        server.changes_after, server.later = len(server.answered) + 60, AWAY
        server.policy = TOWARDS
        with raises_mentioning(ModelError, "changed its model"):
            evaluate(name, path, chat=ChatOptions(temperature=0.5), concurrency=1)


def test_probabilities_are_the_same_up_to_noise() -> None:
    replies = [Reply("A", first_tokens=(("A", one), ("B", other))) for one, other in ((-0.1, -3.0), (-0.15, -2.5))]
    assert is_same_reply(*replies)
    assert not is_same_reply(replies[0], Reply("A", first_tokens=(("B", -0.1),)))
    assert not is_same_reply(Reply("A"), Reply("A", refused=True))
