"""Who is at the other end: signed cookies, CSRF tokens, and the token of a start."""

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
# Sessions that were ended before their cookies expire.
_ENDED = "ended-sessions.json"
# guest: has not said who they are; owner: has the token of the start; reviewer: has a password.
Role = Literal["guest", "owner", "reviewer"]
# Seconds for which a cookie is good.
_LIFETIME = {"guest": 3600, "owner": 30 * 86400, "reviewer": 12 * 3600}


@dataclass(frozen=True, slots=True)
class Session:
    """A person at a browser; `name` is the reviewer's, empty for an owner who has not chosen one.

    `key` is that of the password by which a reviewer was let in; with another password, the session ends.
    """

    role: Role
    id: str
    name: str = ""
    key: str = ""


class Sessions:
    """Makes and reads cookies. The secret is kept in the workspace, so that people stay known after a restart."""

    def __init__(self, state: Path) -> None:
        secret = _load_secret(state / _SECRET)
        self._cookies = URLSafeTimedSerializer(secret, salt="cookie")
        self._signer = Signer(secret, salt="csrf")
        self.start_token = secrets.token_urlsafe(24)
        self._ended_file = state / _ENDED
        self._ending = threading.Lock()
        self._ended = _read_ended(self._ended_file)

    def new(self, role: Role, name: str = "", key: str = "") -> Session:
        """A new session."""
        return Session(role, secrets.token_urlsafe(12), name, key)

    def cookie(self, session: Session) -> str:
        """The value of the cookie."""
        return str(self._cookies.dumps([session.role, session.id, session.name, session.key]))

    def get_lifetime(self, session: Session) -> int:
        """Seconds for which the cookie is good."""
        return _LIFETIME[session.role]

    def read(self, cookie: str) -> Session | None:
        """The session of a cookie; None if it is not one of ours, or too old."""
        try:
            role, id_, name, key = self._cookies.loads(cookie, max_age=max(_LIFETIME.values()))
            self._cookies.loads(cookie, max_age=_LIFETIME[role])
        except (BadSignature, ValueError, TypeError, KeyError):
            return None
        return None if id_ in self._ended else Session(role, id_, name, key)

    def end(self, session: Session) -> None:
        """End a session: its cookie is no longer good, also after a restart."""
        now = time.time()
        with self._ending:
            kept = {id_: until for id_, until in self._ended.items() if until > now}
            self._ended = {**kept, session.id: now + self.get_lifetime(session)}
            with write_atomically(self._ended_file, is_private=True) as part:
                part.write_text(json.dumps(self._ended), encoding="utf-8")

    def compute_csrf_token(self, session: Session) -> str:
        """The token that forms carry: of a session, or of a reviewer, who can send a form after logging in again."""
        of = ["reviewer", session.name] if session.role == "reviewer" else ["session", session.id]
        return self._signer.get_signature(json.dumps(of)).decode()

    def is_csrf_token(self, session: Session, token: str) -> bool:
        """Whether a form carries the token of its session."""
        return secrets.compare_digest(self.compute_csrf_token(session).encode(), token.encode())

    def is_start_token(self, token: str) -> bool:
        """Whether this is the token that was printed at the start."""
        return secrets.compare_digest(self.start_token.encode(), token.encode())


def _read_ended(path: Path) -> dict[str, float]:
    """The sessions that were ended, and until when their cookies would be good."""
    if not path.is_file():
        return {}
    try:
        return {str(id_): float(until) for id_, until in json.loads(path.read_text(encoding="utf-8")).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is damaged; delete it, and the file {_SECRET} beside it, which ends all sessions."
        ) from error


def _load_secret(path: Path) -> str:
    """The secret in a file that only its owner can read; made if it is not there."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if found := path.read_text(encoding="utf-8").strip():
            return found
        path.unlink()  # of a start that was interrupted
        return _load_secret(path)
    made = secrets.token_hex(32)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(made)
    return made
