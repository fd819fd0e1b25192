"""Sessions of the studio's users: signed cookies, CSRF tokens, and the start token."""

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
# The name of the file that lists sessions that ended before their cookies expire; these cookies are rejected.
_ENDED = "ended-sessions.json"
# A guest is not logged in, an owner opened the studio with the start token, and a reviewer logged in with a password.
Role = Literal["guest", "owner", "reviewer"]
# Seconds until a cookie expires, for each role.
_LIFETIME = {"guest": 3600, "owner": 30 * 86400, "reviewer": 12 * 3600}


@dataclass(frozen=True, slots=True)
class Session:
    """The session of a user; `name` is the name of the user, or empty for an owner who has not chosen a name.

    `key` identifies the password with which a reviewer logged in; the session ends when the password changes.
    """

    role: Role
    id: str
    name: str = ""
    key: str = ""


class Sessions:
    """Creates, reads and ends sessions.

    The secret key is stored in the workspace, so that sessions remain valid after a restart of the studio.
    """

    def __init__(self, state: Path) -> None:
        secret = _load_secret(state / _SECRET)
        self._cookies = URLSafeTimedSerializer(secret, salt="cookie")
        self._signer = Signer(secret, salt="csrf")
        self.start_token = secrets.token_urlsafe(24)
        self._ended_file = state / _ENDED
        self._ending = threading.Lock()
        self._ended = _read_ended(self._ended_file)

    def create_session(self, role: Role, name: str = "", key: str = "") -> Session:
        """Return a new session with a random id."""
        return Session(role, secrets.token_urlsafe(12), name, key)

    def build_cookie(self, session: Session) -> str:
        """Return the value of the cookie for a session."""
        return str(self._cookies.dumps([session.role, session.id, session.name, session.key]))

    def get_lifetime(self, session: Session) -> int:
        """Return the number of seconds after which the cookie of a session expires."""
        return _LIFETIME[session.role]

    def read_cookie(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None if the cookie is invalid or expired, or if the session has ended."""
        try:
            role, id_, name, key = self._cookies.loads(cookie, max_age=max(_LIFETIME.values()))
            self._cookies.loads(cookie, max_age=_LIFETIME[role])
        except (BadSignature, ValueError, TypeError, KeyError):
            return None
        return None if id_ in self._ended else Session(role, id_, name, key)

    def end_session(self, session: Session) -> None:
        """End a session permanently; its cookie is rejected even after a restart of the studio."""
        now = time.time()
        with self._ending:
            kept = {id_: until for id_, until in self._ended.items() if until > now}
            self._ended = {**kept, session.id: now + self.get_lifetime(session)}
            with write_atomically(self._ended_file, is_private=True) as part:
                part.write_text(json.dumps(self._ended), encoding="utf-8")

    def compute_csrf_token(self, session: Session) -> str:
        """Return the CSRF token for the forms of a session.

        If a reviewer logs in again, the token is the same, so that forms on pages that are still open work.
        """
        owner = ["reviewer", session.name] if session.role == "reviewer" else ["session", session.id]
        return self._signer.get_signature(json.dumps(owner)).decode()

    def is_csrf_token(self, session: Session, token: str) -> bool:
        """Return whether `token` is the CSRF token of a session."""
        return secrets.compare_digest(self.compute_csrf_token(session).encode(), token.encode())

    def is_start_token(self, token: str) -> bool:
        """Return whether `token` is the start token, which is in the address that the studio prints."""
        return secrets.compare_digest(self.start_token.encode(), token.encode())


def _read_ended(path: Path) -> dict[str, float]:
    """Return a dictionary from the ids of ended sessions to the times when their cookies expire."""
    if not path.is_file():
        return {}
    try:
        return {str(id_): float(until) for id_, until in json.loads(path.read_text(encoding="utf-8")).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is damaged; delete it and the file {_SECRET} in the same folder, which ends all sessions."
        ) from error


def _load_secret(path: Path) -> str:
    """Return the secret key in a file; if the file does not exist, create it, readable only by its owner."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if secret := path.read_text(encoding="utf-8").strip():
            return secret
        # The file is empty if an earlier start of the studio was interrupted.
        path.unlink()
        return _load_secret(path)
    secret = secrets.token_hex(32)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(secret)
    return secret
