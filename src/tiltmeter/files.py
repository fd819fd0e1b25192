"""Write files atomically, check before long work whether outputs can be written, and manage temporary folders."""

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
except ImportError:  # Windows has no fcntl
    fcntl = None  # type: ignore[assignment]

# The number of bytes that are written and deleted again to check whether a disk is full.
_PROBE_SIZE = 256 * 1024
# Ages in seconds at which a temporary file is deleted as a leftover of a killed process. A file that this machine
# created is deleted at any age if it is not locked. A file that another machine created is deleted if it is not locked
# and older than `_AGE_IF_UNLOCKED`, because locks of other machines may be invisible. A file older than
# `_AGE_WITHOUT_LOCKS` is deleted even if it is locked.
_AGE_IF_UNLOCKED, _AGE_WITHOUT_LOCKS = 60.0, 86_400.0
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}-"


@contextmanager
def write_atomically(path: Path, *, is_private: bool = False) -> Iterator[Path]:
    """Yield a temporary file in the folder of `path`; rename it to `path` on success, delete it on an exception.

    If `is_private`, only the owner can read the file. Raise a UsageError if the file cannot be written or the disk is
    full.
    """
    try:
        _reject_special_file(path)
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
        # A full disk or a network file system may report an error only here; the existing file is still intact.
        os.fsync(handle)
        part.replace(path)
    except OSError as error:
        raise build_write_error(path, error) from error
    finally:
        os.close(handle)
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically; lines end with a line feed on every operating system."""
    with write_atomically(path) as part:
        # A text from a damaged file may contain lone surrogates, which cannot be encoded.
        part.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def append_text(path: Path, text: str) -> None:
    """Append a text to a UTF-8 file that other programs may also write to."""
    try:
        # Open in non-blocking mode, because opening a pipe without a reader would block for ever.
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o666)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise build_write_error(path, error) from error


def create_folder(path: Path) -> None:
    """Create a folder and its parent folders; raise a UsageError if they cannot be created."""
    _reject_unknown_home(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise build_write_error(path, error) from error


def reject_unwritable_file(path: Path) -> None:
    """Raise a UsageError if a file cannot be written; call this function before long work."""
    try:
        _reject_special_file(path)
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file in it, such as {path / 'NAME'}.")
        _build_prefix(path)
    except (OSError, ValueError) as error:
        raise build_write_error(path, error) from error
    reject_unwritable_folder(path.parent)


def reject_unwritable_folder(path: Path) -> None:
    """Raise a UsageError if files cannot be written to a folder; the folder need not exist and is not created."""
    _reject_unknown_home(path)
    try:
        existing = path
        while not existing.exists():
            if existing.is_symlink():
                raise UsageError(f"{existing} is a link to a folder that does not exist; choose another folder.")
            os.fsencode(existing.name)
            if len(os.fsencode(existing.name)) > 255:
                raise OSError(36, "File name too long")
            existing = existing.parent
        if not existing.is_dir():
            raise UsageError(f"{existing} is a file, not a folder; choose another folder.")
        with tempfile.TemporaryFile(dir=existing) as probe:
            probe.write(bytes(_PROBE_SIZE))
            probe.flush()
    except (OSError, ValueError) as error:
        raise build_write_error(path, error) from error


def build_write_error(path: Path, error: Exception) -> UsageError:
    """Return the error for a file or folder that cannot be written."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return UsageError(f"{path} cannot be written: {reason.rstrip('.')}; choose another folder, or free disk space.")


@contextmanager
def create_temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder in `parent`, and delete it at the end; also delete leftovers of killed processes in `parent`.

    The caller may rename the folder. The default of `parent` is the system's folder for temporary files.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    try:
        create_folder(parent)
        _delete_leftovers(parent, "tiltmeter-")
        handle, folder = _create_locked_folder(parent)
    except OSError as error:
        raise build_write_error(parent, error) from error
    try:
        yield folder
    finally:
        if handle is not None:
            os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes that call `lock_folder`; on Windows, do nothing."""
    handle = os.open(folder, os.O_RDONLY) if fcntl is not None else None
    try:
        if handle is not None:
            with suppress(OSError):  # ignored, because not every file system has locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def copy_folder_permissions(path: Path) -> None:
    """Give the group and other users the same permissions for a file or folder as for its parent folder.

    Otherwise users of a shared cache could not use each other's files.
    """
    with suppress(OSError):
        parent_mode = stat.S_IMODE(path.parent.stat().st_mode)
        mode = stat.S_IMODE(path.stat().st_mode)
        shared_mode = mode | parent_mode & (0o077 if path.is_dir() else 0o066)
        if path.is_dir():
            shared_mode |= parent_mode & stat.S_ISGID
        if shared_mode != mode:
            path.chmod(shared_mode)


def create_shared_folder(path: Path) -> None:
    """Create a folder and its missing parent folders; each of them gets the permissions of its parent folder."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    create_folder(path)
    for folder in reversed(missing):
        copy_folder_permissions(folder)


def get_lock_mode(path: Path) -> int:
    """Return the permissions for the lock file of `path`: all users who may write to its folder can open the file."""
    with suppress(OSError):
        return 0o600 | stat.S_IMODE(path.parent.stat().st_mode) & 0o066
    return 0o644


def make_readable(folder: Path) -> None:
    """Give a temporary folder, which only its owner can read, the permissions of an ordinary new folder."""
    folder.chmod(0o777 & ~_get_umask())
    copy_folder_permissions(folder)


def _reject_unknown_home(path: Path) -> None:
    # Without this check, a folder whose name begins with `~` would be created.
    if path.parts and path.parts[0].startswith("~") and not Path(path.parts[0]).exists():
        raise UsageError(
            f"{path} begins with the home folder of an unknown user; for a folder of this name in the current folder, "
            f"write {Path.cwd() / path}."
        )


def _reject_special_file(path: Path) -> None:
    """Raise an error if a path is invalid, or is a device, pipe or socket, which an atomic write would replace."""
    if "\0" in str(path):
        raise ValueError("embedded null byte")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UsageError(f"{path} is not a regular file; choose another file.")


def _build_prefix(path: Path) -> str:
    """Return the prefix for the names of temporary files of `path`; a long prefix is cut to keep the names valid."""
    name = os.fsencode(path.name)
    if len(name) > 255:
        raise OSError(36, "File name too long")
    return f".{os.fsdecode(name[:220])}."


def _create_part(folder: Path, prefix: str) -> tuple[int, Path]:
    """Create an empty temporary file and lock it; return its handle and path."""
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix + _MACHINE, suffix=".part", dir=folder)
        if _try_lock(handle, Path(name)):
            return handle, Path(name)
        os.close(handle)


def _create_locked_folder(parent: Path) -> tuple[int | None, Path]:
    """Create an empty temporary folder and lock it; return the handle of the lock and the path of the folder."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"tiltmeter-{_MACHINE}", suffix=".part", dir=parent))
        if fcntl is None:
            return None, folder
        try:
            handle = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # another process has deleted the new folder as a leftover, so try again
            continue
        if _try_lock(handle, folder):
            return handle, folder
        os.close(handle)


def _try_lock(handle: int, path: Path) -> bool:
    """Lock a new file or folder; return False if another process has just deleted it as a leftover."""
    if fcntl is not None:
        with suppress(OSError):  # ignored, because not every file system has locks
            fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _delete_leftovers(folder: Path, prefix: str) -> None:
    """Delete temporary files and folders of killed processes in a folder, if their names begin with `prefix`."""
    with suppress(OSError):
        for part in folder.iterdir():
            if part.name.startswith(prefix) and part.name.endswith(".part") and not part.is_symlink():
                with suppress(OSError):
                    _delete_leftover(part, is_of_this_machine=part.name.startswith(prefix + _MACHINE))


def _delete_leftover(part: Path, *, is_of_this_machine: bool) -> None:
    """Delete a temporary file or folder if the process that created it has ended."""
    age = time.time() - part.lstat().st_mtime
    if age > _AGE_WITHOUT_LOCKS:
        _delete_part(part)
        return
    if fcntl is None or (age < _AGE_IF_UNLOCKED and not is_of_this_machine):
        return
    handle = os.open(part, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        # If another process holds the lock, this call raises an error, so that the file is not deleted.
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _delete_part(part)
    finally:
        os.close(handle)


def _delete_part(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink(missing_ok=True)


def _get_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
