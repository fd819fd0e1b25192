"""The accounts of reviewers in a shared studio.

A file in the workspace stores the names, and scrypt hashes of the passwords.
"""

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
# Parameters of scrypt; computing a hash needs 16 MB of memory and about 50 ms.
_COST = {"n": 2**14, "r": 8, "p": 1}
# Minimum number of characters in a password.
SHORTEST = 8
# The entry for unknown names, so that checking their passwords takes as long as for known names. No password has this
# hash.
_NOBODY = {"salt": bytes(16).hex(), "hash": bytes(64).hex()}


@dataclass(frozen=True, slots=True)
class StudioReviewer:
    """The account of a reviewer; an adjudicator can also settle conflicts, answer questions and publish."""

    name: str
    is_adjudicator: bool = False


def add_studio_reviewer(
    workspace: Path, name: str, password: str, *, is_adjudicator: bool | None = None
) -> StudioReviewer:
    """Add a reviewer, or change the password of a reviewer.

    If `is_adjudicator` is None, a known adjudicator stays an adjudicator, and a new reviewer is not an adjudicator.
    """
    name = name.strip()
    if not name or not name.isprintable() or len(name) > 100:
        raise UsageError("The name of a reviewer must have 1 to 100 printable characters.")
    if len(password) < SHORTEST:
        raise UsageError(f"The password of {name} is too short; use at least {SHORTEST} characters.")
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
    """Delete the account of a reviewer."""
    known = _read_accounts(workspace)
    left = {other: entry for other, entry in known.items() if other.casefold() != name.strip().casefold()}
    if len(left) == len(known):
        raise UsageError(f"{name!r} is not a reviewer of this studio.")
    _write_accounts(workspace, left)


def list_studio_reviewers(workspace: Path) -> list[StudioReviewer]:
    """Return the reviewers, sorted by name."""
    return [
        StudioReviewer(name, bool(entry["adjudicator"])) for name, entry in sorted(_read_accounts(workspace).items())
    ]


def find_studio_reviewer(workspace: Path, name: str) -> StudioReviewer | None:
    """Return the reviewer with this name, ignoring upper and lower case; None if there is no such reviewer."""
    return next(
        (one for one in list_studio_reviewers(workspace) if one.name.casefold() == name.strip().casefold()), None
    )


def get_session_key(workspace: Path, name: str) -> str:
    """Return a key that changes if the password of a reviewer is changed; empty for an unknown name."""
    return str(next((entry["session"] for other, entry in _read_accounts(workspace).items() if other == name), ""))


# At most two hashes are computed at the same time, to limit the memory for parallel logins.
_hashing = threading.BoundedSemaphore(2)


def check_password(workspace: Path, name: str, password: str) -> bool:
    """Return whether `password` is the password of the reviewer; for unknown names, the check takes the same time."""
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
        raise DataError(f"{path} is damaged; delete it and add the reviewers again.") from error
    return dict(values)


def _write_accounts(workspace: Path, known: dict[str, dict[str, Any]]) -> None:
    path = workspace / _FILE
    with write_atomically(path, is_private=True) as part:
        part.write_text(json.dumps(known, ensure_ascii=False, indent=1), encoding="utf-8")
