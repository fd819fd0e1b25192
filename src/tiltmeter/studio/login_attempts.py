"""Wrong passwords, counted by the name that was given and the address they came from, and by the address alone.

After a few in a row, the next attempt has to wait, twice as long each time. A name counts in the same way whether or
not somebody has it, and only for the address, so that nobody learns who has one or keeps somebody else out.
"""

import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from tiltmeter.errors import UsageError

FIRST_WAIT = 2.0
# Seconds after which wrong passwords are forgotten, if there were no others.
FORGET = 3600.0
# Counts that are kept; of more, those that were used last.
_MOST = 10_000

Key = tuple[str, ...]


class TooManyAttemptsError(UsageError):
    """Too many wrong passwords were given; `seconds` is how long to wait."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, round(seconds))
        super().__init__(f"Too many wrong passwords; try again in {self.seconds} seconds.")


@dataclass(frozen=True, slots=True)
class AttemptLimit:
    """Attempts in a row before the first wait, and the seconds of the longest one."""

    free: int
    longest: float


# One person who has forgotten a password; many people at one address, such as an office.
BY_NAME = AttemptLimit(5, 900.0)
BY_ADDRESS = AttemptLimit(50, 60.0)


@dataclass(frozen=True, slots=True)
class _AttemptCount:
    failed: int = 0
    until: float = 0.0
    used: float = 0.0


class LoginAttempts:
    """The counts of a studio; they are forgotten when it ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[Key, _AttemptCount] = {}

    def record_attempt(self, name: str, address: str) -> None:
        """Count an attempt as wrong until it proves right, so that attempts at once do not escape the count.

        A TooManyAttemptsError, and nothing is counted, if it has to wait.
        """
        with self._lock:
            now = self._clock()
            limits = dict(zip(_build_keys(name, address), (BY_NAME, BY_ADDRESS), strict=True))
            known = {key: self._known(key, now) for key in limits}
            if (until := max(count.until for count in known.values())) > now:
                raise TooManyAttemptsError(until - now)
            for key, limit in limits.items():
                failed = known[key].failed + 1
                over = failed - limit.free
                wait = min(FIRST_WAIT * 2.0 ** min(over, 30), limit.longest) if over >= 0 else 0.0
                self._counts.pop(key, None)  # the last one used is the last one in the dictionary
                self._counts[key] = _AttemptCount(failed, now + wait, now)
            while len(self._counts) > _MOST:
                del self._counts[next(iter(self._counts))]

    def record_success(self, name: str, address: str) -> None:
        """The attempt was right: the name has none that is wrong, and the address one less."""
        with self._lock:
            by_name, by_address = _build_keys(name, address)
            self._counts.pop(by_name, None)
            known = self._counts.get(by_address)
            if known is not None:
                self._counts[by_address] = _AttemptCount(known.failed - 1, 0.0, known.used)

    def _known(self, key: Key, now: float) -> _AttemptCount:
        count = self._counts.get(key, _AttemptCount())
        return _AttemptCount() if now > max(count.until, count.used) + FORGET else count


def _build_keys(name: str, address: str) -> tuple[Key, Key]:
    place = _get_network(address)
    return (name.strip().casefold(), place), (place,)


def _get_network(address: str) -> str:
    """An address; of IPv6 the network, since its user has all addresses in it.

    >>> _get_network("192.0.2.7"), _get_network("2001:db8:1:2:3:4:5:6"), _get_network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1:2::/64', '192.0.2.7')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
