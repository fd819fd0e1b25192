"""Who may review in a shared studio: names with passwords, kept as scrypt hashes in the workspace's own folder.

After a few wrong passwords in a row, the next attempt for a name has to wait, twice as long each time.
"""

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import atomic_write
from tiltmeter.studio.folders import STATE

_FILE = Path(STATE) / "reviewers.json"
# The cost of a hash: 16 MB and some 50 ms.
_COST = {"n": 2**14, "r": 8, "p": 1}
SHORTEST = 8
# Wrong passwords in a row before the first wait; seconds of the first and of the longest one.
FREE_ATTEMPTS = 5
FIRST_WAIT = 2.0
LONGEST_WAIT = 900.0


class TooManyAttemptsError(UsageError):
    """Too many wrong passwords were given for a name; `seconds` is how long to wait."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, round(seconds))
        super().__init__(f"Too many wrong passwords for this name; try again in {self.seconds} seconds.")


@dataclass(frozen=True, slots=True)
class StudioReviewer:
    """Somebody who may log in to a shared studio; an adjudicator also settles conflicts, answers and publishes."""

    name: str
    is_adjudicator: bool = False


def add_studio_reviewer(workspace: Path, name: str, password: str, *, is_adjudicator: bool = False) -> None:
    """Give somebody a password, or another one."""
    name = name.strip()
    if not name or not name.isprintable() or len(name) > 100:
        raise UsageError("A reviewer needs a name of at most 100 printable characters.")
    if len(password) < SHORTEST:
        raise UsageError(f"The password of {name} should have at least {SHORTEST} characters.")
    known = {other: entry for other, entry in _read(workspace).items() if other.casefold() != name.casefold()}
    salt = secrets.token_bytes(16)
    known[name] = {
        "salt": salt.hex(),
        "hash": _hash(password, salt).hex(),
        "adjudicator": is_adjudicator,
        "session": secrets.token_hex(8),
    }
    _write(workspace, known)


def remove_studio_reviewer(workspace: Path, name: str) -> None:
    """Take away somebody's password, so that they can no longer log in."""
    known = _read(workspace)
    left = {other: entry for other, entry in known.items() if other.casefold() != name.strip().casefold()}
    if len(left) == len(known):
        raise UsageError(f"{name!r} is not a reviewer of this studio.")
    _write(workspace, left)


def studio_reviewers(workspace: Path) -> list[StudioReviewer]:
    """Those who may log in, by name."""
    return [StudioReviewer(name, bool(entry["adjudicator"])) for name, entry in sorted(_read(workspace).items())]


def studio_reviewer(workspace: Path, name: str) -> StudioReviewer | None:
    """Who may log in by this name; upper and lower case are the same."""
    return next((one for one in studio_reviewers(workspace) if one.name.casefold() == name.strip().casefold()), None)


def session_key(workspace: Path, name: str) -> str:
    """Changes when somebody's password does, so that a session that remembers it ends; empty for nobody."""
    return str(next((entry["session"] for other, entry in _read(workspace).items() if other == name), ""))


class _Attempts:
    """Wrong passwords in a row, by workspace and name, and until when the next attempt has to wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._failed: dict[tuple[Path, str], tuple[int, float]] = {}

    def begin(self, key: tuple[Path, str]) -> None:
        """Count an attempt as wrong until it proves right, so that attempts at once do not escape the count."""
        with self._lock:
            failed, until = self._failed.get(key, (0, 0.0))
            now = self.clock()
            if now < until:
                raise TooManyAttemptsError(until - now)
            failed += 1
            over = failed - FREE_ATTEMPTS
            wait = min(FIRST_WAIT * 2.0 ** min(over, 30), LONGEST_WAIT) if over >= 0 else 0.0
            self._failed[key] = failed, now + wait

    def succeeded(self, key: tuple[Path, str]) -> None:
        with self._lock:
            self._failed.pop(key, None)


_attempts = _Attempts()
# So that many who log in at once do not take much memory.
_hashing = threading.BoundedSemaphore(2)


def check_password(workspace: Path, name: str, password: str) -> bool:
    """Whether this is the password of a reviewer; a TooManyAttemptsError if the name has to wait."""
    wanted = name.strip().casefold()
    entry = next((entry for other, entry in _read(workspace).items() if other.casefold() == wanted), None)
    # Names that nobody has share one count, and cost as much time.
    key = (workspace.resolve(), wanted if entry else "")
    _attempts.begin(key)
    salt = bytes.fromhex(entry["salt"]) if entry else bytes(16)
    found = _hash(password, salt)
    is_right = entry is not None and hmac.compare_digest(found, bytes.fromhex(entry["hash"]))
    if is_right:
        _attempts.succeeded(key)
    return is_right


def _hash(password: str, salt: bytes) -> bytes:
    with _hashing:
        return hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, **_COST)


def _read(workspace: Path) -> dict[str, dict[str, Any]]:
    path = workspace / _FILE
    if not path.is_file():
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        for entry in values.values():
            bytes.fromhex(entry["salt"]), bytes.fromhex(entry["hash"]), entry["adjudicator"], entry["session"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is damaged; delete it, and add the reviewers again.") from error
    return dict(values)


def _write(workspace: Path, known: dict[str, dict[str, Any]]) -> None:
    path = workspace / _FILE
    with atomic_write(path, is_private=True) as part:
        part.write_text(json.dumps(known, ensure_ascii=False, indent=1), encoding="utf-8")
