"""Who may review in a shared studio: names with passwords, kept as scrypt hashes in the workspace's own folder."""

import hashlib
import hmac
import json
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import write_atomically
from tiltmeter.studio.studio_workspace import STATE

_FILE = Path(STATE) / "reviewers.json"
# The cost of a hash: 16 MB and some 50 ms.
_COST = {"n": 2**14, "r": 8, "p": 1}
SHORTEST = 8
# Stands for the entry of a name that nobody has, so that it takes the same time; no password has this hash.
_NOBODY = {"salt": bytes(16).hex(), "hash": bytes(64).hex()}


@dataclass(frozen=True, slots=True)
class StudioReviewer:
    """Somebody who may log in to a shared studio; an adjudicator also settles conflicts, answers and publishes."""

    name: str
    is_adjudicator: bool = False


def add_studio_reviewer(
    workspace: Path, name: str, password: str, *, is_adjudicator: bool | None = None
) -> StudioReviewer:
    """Give somebody a password, or another one; who is an adjudicator stays one unless `is_adjudicator` is given."""
    name = name.strip()
    if not name or not name.isprintable() or len(name) > 100:
        raise UsageError("A reviewer needs a name of at most 100 printable characters.")
    if len(password) < SHORTEST:
        raise UsageError(f"The password of {name} should have at least {SHORTEST} characters.")
    before = find_studio_reviewer(workspace, name)
    if is_adjudicator is None:
        is_adjudicator = before is not None and before.is_adjudicator
    known = {other: entry for other, entry in _read_accounts(workspace).items() if other.casefold() != name.casefold()}
    salt = secrets.token_bytes(16)
    known[name] = {
        "salt": salt.hex(),
        "hash": _hash_password(password, salt).hex(),
        "adjudicator": is_adjudicator,
        "session": secrets.token_hex(8),
    }
    _write_accounts(workspace, known)
    return StudioReviewer(name, is_adjudicator)


def remove_studio_reviewer(workspace: Path, name: str) -> None:
    """Take away somebody's password, so that they can no longer log in."""
    known = _read_accounts(workspace)
    left = {other: entry for other, entry in known.items() if other.casefold() != name.strip().casefold()}
    if len(left) == len(known):
        raise UsageError(f"{name!r} is not a reviewer of this studio.")
    _write_accounts(workspace, left)


def list_studio_reviewers(workspace: Path) -> list[StudioReviewer]:
    """Those who may log in, by name."""
    return [
        StudioReviewer(name, bool(entry["adjudicator"])) for name, entry in sorted(_read_accounts(workspace).items())
    ]


def find_studio_reviewer(workspace: Path, name: str) -> StudioReviewer | None:
    """Who may log in by this name; upper and lower case are the same."""
    return next(
        (one for one in list_studio_reviewers(workspace) if one.name.casefold() == name.strip().casefold()), None
    )


def get_session_key(workspace: Path, name: str) -> str:
    """Changes when somebody's password does, so that a session that remembers it ends; empty for nobody."""
    return str(next((entry["session"] for other, entry in _read_accounts(workspace).items() if other == name), ""))


# So that many who log in at once do not take much memory.
_hashing = threading.BoundedSemaphore(2)


def check_password(workspace: Path, name: str, password: str) -> bool:
    """Whether this is the password of a reviewer; it takes the same time for names that nobody has."""
    wanted = name.strip().casefold()
    entry = next((entry for other, entry in _read_accounts(workspace).items() if other.casefold() == wanted), _NOBODY)
    return hmac.compare_digest(_hash_password(password, bytes.fromhex(entry["salt"])), bytes.fromhex(entry["hash"]))


def _hash_password(password: str, salt: bytes) -> bytes:
    with _hashing:
        return hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, **_COST)


def _read_accounts(workspace: Path) -> dict[str, dict[str, Any]]:
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


def _write_accounts(workspace: Path, known: dict[str, dict[str, Any]]) -> None:
    path = workspace / _FILE
    with write_atomically(path, is_private=True) as part:
        part.write_text(json.dumps(known, ensure_ascii=False, indent=1), encoding="utf-8")
