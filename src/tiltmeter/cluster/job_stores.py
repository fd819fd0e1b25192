"""The stores of a job: its own SQLite files, which are later merged into the cache.

One file is for answers of language models, the other file is for replies of chat models.

On a network file system, machines must not share SQLite files. Only the job writes to its stores, so the stores can be
on a network file system. Answers that the cache already contains are copied to the stores.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tiltmeter.database.connection import StoreError
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.engine.answer_store import AnswerStore, LoadFindings
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.questions import Answer, Reply

ANSWERS, REPLIES = "answers.sqlite", "replies.sqlite"


class _UnlockedStore:
    """A read-only store that uses no file locks, for a cache that another machine writes.

    If another machine changes a row while it is read, the checksum of the row is wrong, and the row counts as missing.
    """

    _file: str
    is_read_only: bool
    _open_connection: Any
    _read_each_table: Any

    def _open_file(self) -> None:
        address = f"file:{quote(str(Path(self._file).resolve()))}?mode=ro&immutable=1"
        self._db = self._open_connection(address, uri=True)
        self.is_read_only = True
        self._read_each_table()

    def _replace_damaged_file(self, error: StoreError) -> None:
        raise error


class UnlockedAnswers(_UnlockedStore, AnswerStore):
    """Answers in a cache that another machine writes, read without locks."""


class UnlockedReplies(_UnlockedStore, ReplyStore):
    """Replies in a cache that another machine writes, read without locks."""


class JobAnswers(AnswerStore):
    """The store of a job for answers of a language model.

    Requested answers that are only in the cache are copied to the store.
    """

    def __init__(self, folder: Path, *, same_machine: bool) -> None:
        super().__init__(folder / ANSWERS, journal="TRUNCATE")
        self._cache = _open_cache(AnswerStore if same_machine else UnlockedAnswers, ANSWERS)

    def get(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Answer]:
        """Return the answers to these questions that are in this store or in the cache."""
        wanted = list(questions)
        found = super().get(fingerprint, wanted)
        if self._cache is not None and (missing := [digest for digest in wanted if digest not in found]):
            with suppress(StoreError):
                if known := self._cache.get(fingerprint, missing):
                    self.put(fingerprint, known)
                    found.update(known)
        return found

    def get_load_findings(self, fingerprint: str) -> LoadFindings:
        """Return what this store or the cache records about loading the model, such as disabled speed-ups.

        The result is empty if neither the store nor the cache has a record.
        """
        found = super().get_load_findings(fingerprint)
        if found == LoadFindings() and self._cache is not None:
            with suppress(StoreError):
                found = self._cache.get_load_findings(fingerprint)
        return found

    def close(self) -> None:
        """Close this store and the cache."""
        super().close()
        if getattr(self, "_cache", None) is not None:
            self._cache.close()


class JobReplies(ReplyStore):
    """The store of a job for replies of a chat model.

    Requested replies that are only in the cache are copied to the store.
    """

    def __init__(self, folder: Path, *, same_machine: bool) -> None:
        super().__init__(folder / REPLIES, journal="TRUNCATE")
        self._cache = _open_cache(ReplyStore if same_machine else UnlockedReplies, REPLIES)

    def get(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Reply]:
        """Return the replies to these questions that are in this store or in the cache."""
        wanted = list(questions)
        found = super().get(fingerprint, wanted)
        if self._cache is not None and (missing := [digest for digest in wanted if digest not in found]):
            with suppress(StoreError):
                for digest, reply in self._cache.get(fingerprint, missing).items():
                    self.put(fingerprint, digest, reply)
                    found[digest] = reply
        return found

    def close(self) -> None:
        """Close this store and the cache."""
        super().close()
        if getattr(self, "_cache", None) is not None:
            self._cache.close()


def _open_cache(kind: Any, name: str) -> Any:
    """Open the store `name` of the cache; return None if the store does not exist or cannot be read."""
    path = get_cache_folder() / name
    if path.is_file():
        with suppress(StoreError):
            return kind(path)
    return None


def has_stores(folder: Path) -> bool:
    """Return whether a job's folder contains a store of answers or replies."""
    return any((folder / name).is_file() for name in (ANSWERS, REPLIES))


def merge_stores(folder: Path, *, remove: bool) -> None:
    """Merge the stores of a job into the cache; if `remove`, then delete them. The caller must hold the job's lock."""
    for name, kind in ((ANSWERS, AnswerStore), (REPLIES, ReplyStore)):
        path = folder / name
        if not path.is_file():
            continue
        # Opening the job's store rolls back an interrupted transaction, and creates missing tables.
        with kind(path, journal="TRUNCATE") as own, kind(get_cache_folder() / name) as cache:
            merge = partial(cache.merge, path)
            # The damaged file may be the store of the job or the cache, so the merge is retried for each of them.
            cache.retry_if_damaged(partial(own.retry_if_damaged, merge))
        if remove:
            for left in (path, *(path.with_name(f"{name}-{end}") for end in ("journal", "wal", "shm"))):
                left.unlink(missing_ok=True)
