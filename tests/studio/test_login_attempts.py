"""Rate limits for logins, which do not reveal names."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tiltmeter.studio.login_attempts import BY_ADDRESS, BY_NAME, FORGET, LoginAttempts, TooManyAttemptsError

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def wait(attempts: LoginAttempts, name: str = "Ana", address: str = HERE) -> int:
    """Return the waiting time of an attempt in seconds; 0 if it is allowed."""
    try:
        attempts.record_attempt(name, address)
    except TooManyAttemptsError as error:
        return error.seconds
    return 0


def test_wrong_passwords_wait_longer_each_time(clock: Clock) -> None:
    attempts = LoginAttempts(clock)
    assert [wait(attempts) for _ in range(BY_NAME.free)] == [0] * BY_NAME.free
    waits = []
    for _ in range(12):
        waits.append(wait(attempts, "ANA "))
        clock.now += waits[-1]
        assert wait(attempts) == 0
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]
    clock.now += 900
    assert wait(attempts) == 0
    attempts.record_success("Ana", HERE)
    assert wait(attempts) == 0  # the count begins anew


def test_an_address_does_not_lock_out_other_addresses(clock: Clock) -> None:
    attempts = LoginAttempts(clock)
    while not wait(attempts, "Ana", HERE):
        pass
    assert wait(attempts, "Ana", THERE) == 0
    assert wait(attempts, "Eva", HERE) == 0


def test_unknown_names_are_counted_too(clock: Clock) -> None:
    attempts = LoginAttempts(clock)
    answers = [[wait(attempts, name) for _ in range(8)] for name in ("Ana", "nobody")]
    assert answers[0] == answers[1]


def test_an_address_has_a_wider_limit_for_all_names(clock: Clock) -> None:
    attempts = LoginAttempts(clock)
    assert not any(wait(attempts, f"n{turn}") for turn in range(BY_ADDRESS.free))
    assert wait(attempts, "another") == 2
    assert wait(attempts, "another", THERE) == 0
    # Who knows a password of their own does not begin anew.
    clock.now += 2
    attempts.record_attempt("own", HERE)
    attempts.record_success("own", HERE)
    assert wait(attempts, "another") == 0
    assert wait(attempts, "a third") == 4
    for _ in range(20):
        clock.now += BY_ADDRESS.longest
        assert wait(attempts, f"m{clock.now}") == 0
    assert wait(attempts, "a fourth") == BY_ADDRESS.longest
    clock.now += BY_ADDRESS.longest + FORGET + 1
    assert [wait(attempts, f"k{turn}") for turn in range(3)] == [0, 0, 0]


def test_an_ipv6_network_counts_as_one_address(clock: Clock) -> None:
    attempts = LoginAttempts(clock)
    assert [wait(attempts, "Ana", f"2001:db8::{turn}") for turn in range(BY_NAME.free)] == [0] * BY_NAME.free
    assert wait(attempts, "Ana", "2001:db8::ffff") == 2
    assert wait(attempts, "Ana", "2001:db8:0:1::1") == 0


def test_parallel_attempts_are_counted(clock: Clock) -> None:
    attempts = LoginAttempts(clock)
    with ThreadPoolExecutor(16) as threads:
        waits = list(threads.map(lambda _turn: wait(attempts), range(40)))
    assert waits.count(0) == BY_NAME.free


def test_the_number_of_counts_is_limited(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.studio.login_attempts._MOST", 10)
    attempts = LoginAttempts(clock)
    for turn in range(100):
        wait(attempts, "Ana", f"198.51.100.{turn}")
    assert len(attempts._counts) == 10
