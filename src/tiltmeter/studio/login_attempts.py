"""Rate limits for logins: one limit for each pair of user name and IP address, and one for each IP address.

After several wrong passwords, the next attempt must wait, and the waiting time doubles with each attempt. Unknown names
are treated like known names, so that attempts do not reveal which names exist. The limit for a name applies only to one
address, so that nobody can lock out another person from another address.
"""

import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from tiltmeter.errors import UsageError

# The first waiting time after too many attempts, in seconds.
FIRST_WAIT = 2.0
# Seconds after the last attempt and its waiting time until the count of attempts is reset.
FORGET = 3600.0
# Maximum number of counts of attempts in memory; if there are more, the oldest counts are deleted.
_MOST = 10_000

Key = tuple[str, ...]


class TooManyAttemptsError(UsageError):
    """Too many wrong passwords; `seconds` is the time until the next attempt is allowed."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, round(seconds))
        super().__init__(f"Too many wrong passwords; try again in {self.seconds} seconds.")


@dataclass(frozen=True, slots=True)
class AttemptLimit:
    """A rate limit: the number of attempts without waiting time (`free`), and the maximum waiting time in seconds."""

    free: int
    longest: float


# An address has more attempts without waiting time, because many people may share it, for example in an office.
BY_NAME = AttemptLimit(5, 900.0)
BY_ADDRESS = AttemptLimit(50, 60.0)


@dataclass(frozen=True, slots=True)
class _AttemptCount:
    """The number of attempts since the last success.

    The next attempt is allowed at the time `until` or later, and `used` is the time of the last attempt.
    """

    failed: int = 0
    until: float = 0.0
    used: float = 0.0


class LoginAttempts:
    """Counts the login attempts of a studio; the counts are kept only in memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[Key, _AttemptCount] = {}

    def record_attempt(self, name: str, address: str) -> None:
        """Count a login attempt before its password is checked, so that parallel attempts are also limited.

        If the attempt must wait, raise a TooManyAttemptsError and do not count the attempt.
        """
        with self._lock:
            now = self._clock()
            limits = dict(zip(_build_keys(name, address), (BY_NAME, BY_ADDRESS), strict=True))
            known = {key: self._get_count(key, now) for key in limits}
            if (until := max(count.until for count in known.values())) > now:
                raise TooManyAttemptsError(until - now)
            for key, limit in limits.items():
                failed = known[key].failed + 1
                over = failed - limit.free
                wait = min(FIRST_WAIT * 2.0 ** min(over, 30), limit.longest) if over >= 0 else 0.0
                # The entry moves to the end, so that the oldest entry is always first.
                self._counts.pop(key, None)
                self._counts[key] = _AttemptCount(failed, now + wait, now)
            while len(self._counts) > _MOST:
                del self._counts[next(iter(self._counts))]

    def record_success(self, name: str, address: str) -> None:
        """After a correct password, reset the count of the name, and subtract 1 from the count of the address."""
        with self._lock:
            by_name, by_address = _build_keys(name, address)
            self._counts.pop(by_name, None)
            known = self._counts.get(by_address)
            if known is not None:
                self._counts[by_address] = _AttemptCount(known.failed - 1, 0.0, known.used)

    def _get_count(self, key: Key, now: float) -> _AttemptCount:
        count = self._counts.get(key, _AttemptCount())
        return _AttemptCount() if now > max(count.until, count.used) + FORGET else count


def _build_keys(name: str, address: str) -> tuple[Key, Key]:
    network = _get_network(address)
    return (name.strip().casefold(), network), (network,)


def _get_network(address: str) -> str:
    """Return an IPv4 address unchanged, or the /64 network of an IPv6 address (usually the network of one user).

    >>> _get_network("192.0.2.7"), _get_network("2001:db8:1:2:3:4:5:6"), _get_network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1:2::/64', '192.0.2.7')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
