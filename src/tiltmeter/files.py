"""Atomic file writes, checked before the work, and temporary folders; what a killed process left of them is removed."""

import os
import platform
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tiltmeter.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Written and deleted again to find out whether a disk is full, in bytes.
_TRIAL = 256 * 1024
# What a process on this machine made is left over once nobody holds a lock on it; that of another machine, whose locks
# need not be seen here, after so many seconds; and without locks only after a day.
_UNLOCKED_FOR, _UNTOUCHED_FOR = 60.0, 86_400.0
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}-"


@contextmanager
def write_atomically(path: Path, *, is_private: bool = False) -> Iterator[Path]:
    """Yield a temporary path in the same folder; rename it to `path` on success, delete it on an exception.

    A private file can be read by its owner only. A UsageError if the file cannot be written, or the disk is full.
    """
    try:
        _reject_special(path)
        create_folder(path.parent)
        prefix = _build_prefix(path)
        _delete_leftovers(path.parent, prefix)
        handle, part = _create_part(path.parent, prefix)
    except (OSError, ValueError) as error:
        raise build_write_error(path, error) from error
    try:
        yield part
        # mkstemp creates files with mode 0600; give the file the permissions that open() would have.
        if not is_private:
            part.chmod(0o666 & ~_get_umask())
        # A disk that is full or a server that fails may say so only now, and the file that is there is still whole.
        os.fsync(handle)
        part.replace(path)
    except OSError as error:
        raise build_write_error(path, error) from error
    finally:
        os.close(handle)
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically, with the same line ends on every system."""
    with write_atomically(path) as part:
        # A text from a damaged file may hold half a character, which no encoding has.
        part.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def append_text(path: Path, text: str) -> None:
    """Add a text to the end of a UTF-8 file, which other programs write to as well."""
    try:
        # Without waiting for a reader of a pipe, which may never come.
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o666)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise build_write_error(path, error) from error


def create_folder(path: Path) -> None:
    """Make a folder and those above it; a UsageError if that cannot be done."""
    _reject_unknown_home(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise build_write_error(path, error) from error


def reject_unwritable_file(path: Path) -> None:
    """A UsageError if a file cannot be written there: to be called before the work, not after it."""
    try:
        _reject_special(path)
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file in it, such as {path / 'NAME'}.")
        _build_prefix(path)
    except (OSError, ValueError) as error:
        raise build_write_error(path, error) from error
    reject_unwritable_folder(path.parent)


def reject_unwritable_folder(path: Path) -> None:
    """A UsageError if files cannot be written to a folder, which need not exist yet; nothing is left of the trial."""
    _reject_unknown_home(path)
    try:
        existing = path
        while not existing.exists():
            if existing.is_symlink():
                raise UsageError(f"{existing} is a link to a folder that is not there; choose another place.")
            os.fsencode(existing.name)
            if len(os.fsencode(existing.name)) > 255:
                raise OSError(36, "File name too long")
            existing = existing.parent
        if not existing.is_dir():
            raise UsageError(f"{existing} is a file, not a folder; choose another place.")
        with tempfile.TemporaryFile(dir=existing) as trial:
            trial.write(bytes(_TRIAL))
            trial.flush()
    except (OSError, ValueError) as error:
        raise build_write_error(path, error) from error


def build_write_error(path: Path, error: Exception) -> UsageError:
    """The sentence on a file or folder that cannot be written."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return UsageError(f"{path} cannot be written: {reason.rstrip('.')}; choose another place, or make room there.")


@contextmanager
def create_temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """A folder that is deleted at the end; those that killed processes left beside it are deleted now.

    It may be renamed meanwhile. `parent` is the system's folder for temporary files by default.
    """
    where = Path(tempfile.gettempdir()) if parent is None else parent
    try:
        create_folder(where)
        _delete_leftovers(where, "tiltmeter-")
        handle, folder = _create_locked_folder(where)
    except OSError as error:
        raise build_write_error(where, error) from error
    try:
        yield folder
    finally:
        if handle is not None:
            os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Wait until no other process is in this context with the same folder; without locks on Windows."""
    handle = os.open(folder, os.O_RDONLY) if fcntl is not None else None
    try:
        if handle is not None:
            with suppress(OSError):  # not every file system has locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def share_like_folder(path: Path) -> None:
    """Give others the rights to a file or folder of a shared folder that they have to the folder itself.

    Without that, what one user of a shared cache writes is closed to the others, whatever the folder allows.
    """
    with suppress(OSError):
        allowed = stat.S_IMODE(path.parent.stat().st_mode)
        mode = stat.S_IMODE(path.stat().st_mode)
        wanted = mode | allowed & (0o077 if path.is_dir() else 0o066)
        if path.is_dir():
            wanted |= allowed & stat.S_ISGID
        if wanted != mode:
            path.chmod(wanted)


def create_shared_folder(path: Path) -> None:
    """Make a folder of a cache and those above it, open to whoever the cache's own folder is open to."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    create_folder(path)
    for folder in reversed(missing):
        share_like_folder(folder)


def get_lock_mode(path: Path) -> int:
    """The permissions of a lock file: those who may write to its folder must be able to open it."""
    with suppress(OSError):
        return 0o600 | stat.S_IMODE(path.parent.stat().st_mode) & 0o066
    return 0o644


def make_readable(folder: Path) -> None:
    """Give a temporary folder, which only its owner can read, the permissions that a new folder would have."""
    folder.chmod(0o777 & ~_get_umask())
    share_like_folder(folder)


def _reject_unknown_home(path: Path) -> None:
    """A UsageError for `~user/…` with a user who is not known, instead of a new folder whose name begins with `~`."""
    if path.parts and path.parts[0].startswith("~") and not Path(path.parts[0]).exists():
        raise UsageError(
            f"{path} begins with the home folder of a user who is not known here; for a folder of that name in this "
            f"one, write {Path.cwd() / path}."
        )


def _reject_special(path: Path) -> None:
    """A UsageError for a device, pipe or socket, which a rename would replace, and for a name that no file can have."""
    if "\0" in str(path):
        raise ValueError("embedded null byte")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UsageError(f"{path} is not a regular file; choose another place.")


def _build_prefix(path: Path) -> str:
    """How the names of a file's parts begin; shorter than the name itself where that is nearly too long."""
    name = os.fsencode(path.name)
    if len(name) > 255:
        raise OSError(36, "File name too long")
    return f".{os.fsdecode(name[:220])}."


def _create_part(folder: Path, prefix: str) -> tuple[int, Path]:
    """An empty file that is locked, open for writing."""
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix + _MACHINE, suffix=".part", dir=folder)
        if _try_lock(handle, Path(name)):
            return handle, Path(name)
        os.close(handle)


def _create_locked_folder(parent: Path) -> tuple[int | None, Path]:
    """An empty folder that is locked, and the handle that holds the lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"tiltmeter-{_MACHINE}", suffix=".part", dir=parent))
        if fcntl is None:
            return None, folder
        try:
            handle = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # taken for one that is left over
            continue
        if _try_lock(handle, folder):
            return handle, folder
        os.close(handle)


def _try_lock(handle: int, path: Path) -> bool:
    """Lock a new file or folder, so that nobody takes it for one that is left over; False if somebody just did."""
    if fcntl is not None:
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _delete_leftovers(folder: Path, prefix: str) -> None:
    """Delete the parts that killed processes left in a folder."""
    with suppress(OSError):
        for part in folder.iterdir():
            if part.name.startswith(prefix) and part.name.endswith(".part") and not part.is_symlink():
                with suppress(OSError):
                    _delete_leftover(part, is_of_this_machine=part.name.startswith(prefix + _MACHINE))


def _delete_leftover(part: Path, *, is_of_this_machine: bool) -> None:
    """Delete a part if the process that made it has ended; it is locked meanwhile."""
    age = time.time() - part.lstat().st_mtime
    if age > _UNTOUCHED_FOR:
        _delete(part)
        return
    if fcntl is None or (age < _UNLOCKED_FOR and not is_of_this_machine):
        return
    handle = os.open(part, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error if it is held
        _delete(part)
    finally:
        os.close(handle)


def _delete(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink(missing_ok=True)


def _get_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
