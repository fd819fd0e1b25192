"""Sessions: signed cookies, CSRF tokens, and the start token."""

import json
import os
import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from itsdangerous import BadSignature, Signer, URLSafeTimedSerializer

from tiltmeter.errors import DataError
from tiltmeter.files import write_atomically

_SECRET = "secret"
# A file with the sessions that ended before their cookies expire.
_ENDED = "ended-sessions.json"
# guest: not logged in; owner: has the start token; reviewer: has a password.
Role = Literal["guest", "owner", "reviewer"]
# Seconds until a cookie expires.
_LIFETIME = {"guest": 3600, "owner": 30 * 86400, "reviewer": 12 * 3600}


@dataclass(frozen=True, slots=True)
class Session:
    """The session of a browser; `name` is that of the reviewer, empty for an owner who has not chosen one.

    `key` identifies the reviewer's password at login; the session ends when the password changes.
    """

    role: Role
    id: str
    name: str = ""
    key: str = ""


class Sessions:
    """Creates and reads cookies; the secret is stored in the workspace, so that sessions survive a restart."""

    def __init__(self, state: Path) -> None:
        secret = _load_secret(state / _SECRET)
        self._cookies = URLSafeTimedSerializer(secret, salt="cookie")
        self._signer = Signer(secret, salt="csrf")
        self.start_token = secrets.token_urlsafe(24)
        self._ended_file = state / _ENDED
        self._ending = threading.Lock()
        self._ended = _read_ended(self._ended_file)

    def new(self, role: Role, name: str = "", key: str = "") -> Session:
        """Return a new session."""
        return Session(role, secrets.token_urlsafe(12), name, key)

    def cookie(self, session: Session) -> str:
        """Return the value of the cookie."""
        return str(self._cookies.dumps([session.role, session.id, session.name, session.key]))

    def get_lifetime(self, session: Session) -> int:
        """Return the seconds until the cookie expires."""
        return _LIFETIME[session.role]

    def read(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None if it is invalid, expired or ended."""
        try:
            role, id_, name, key = self._cookies.loads(cookie, max_age=max(_LIFETIME.values()))
            self._cookies.loads(cookie, max_age=_LIFETIME[role])
        except (BadSignature, ValueError, TypeError, KeyError):
            return None
        return None if id_ in self._ended else Session(role, id_, name, key)

    def end(self, session: Session) -> None:
        """End a session permanently, so that its cookie is rejected also after a restart."""
        now = time.time()
        with self._ending:
            kept = {id_: until for id_, until in self._ended.items() if until > now}
            self._ended = {**kept, session.id: now + self.get_lifetime(session)}
            with write_atomically(self._ended_file, is_private=True) as part:
                part.write_text(json.dumps(self._ended), encoding="utf-8")

    def compute_csrf_token(self, session: Session) -> str:
        """Return the token of forms; that of a reviewer stays the same after logging in again."""
        owner = ["reviewer", session.name] if session.role == "reviewer" else ["session", session.id]
        return self._signer.get_signature(json.dumps(owner)).decode()

    def is_csrf_token(self, session: Session, token: str) -> bool:
        """Return whether this is the CSRF token of a session."""
        return secrets.compare_digest(self.compute_csrf_token(session).encode(), token.encode())

    def is_start_token(self, token: str) -> bool:
        """Return whether this is the token in the printed address."""
        return secrets.compare_digest(self.start_token.encode(), token.encode())


def _read_ended(path: Path) -> dict[str, float]:
    """Read the ended sessions, with the times when their cookies expire."""
    if not path.is_file():
        return {}
    try:
        return {str(id_): float(until) for id_, until in json.loads(path.read_text(encoding="utf-8")).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is damaged; delete it and the file {_SECRET} in the same folder, which ends all sessions."
        ) from error


def _load_secret(path: Path) -> str:
    """Read the secret, or create it in a file that only its owner can read."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if secret := path.read_text(encoding="utf-8").strip():
            return secret
        path.unlink()  # an interrupted start leaves an empty file
        return _load_secret(path)
    secret = secrets.token_hex(32)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(secret)
    return secret
