"""Atomic writes, checks of outputs before the work, and deletion of leftovers."""

import errno
import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from perf.killing import attempt
from tests.support.messages import raises_mentioning
from tiltmeter import files, text_files
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import (
    append_text,
    copy_folder_permissions,
    create_shared_folder,
    create_temporary_folder,
    reject_unwritable_file,
    reject_unwritable_folder,
    write_atomically,
    write_text,
)

posix = pytest.mark.skipif(os.name != "posix", reason="devices, pipes and permissions of POSIX")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_full_disk_keeps_the_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_text(path, "old")
    with (
        raises_mentioning(UsageError, "report.html", "No space left"),
        write_atomically(path),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["report.html"]


def test_an_error_on_sync_keeps_the_existing_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    write_text(path, "old")

    def full(_handle: int) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "fsync", full)
    with raises_mentioning(UsageError, "report.html", "Disk quota exceeded"):
        write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["report.html"]


def test_a_lone_surrogate_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "x\ud800y")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "x?y"


@posix
@pytest.mark.parametrize("name", ["file/x", "x" * 300, "link/x", "pipe", "/dev/full", "nul\0l"])
def test_an_output_that_cannot_be_written_is_rejected_before_the_work(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    before = names(tmp_path)
    with pytest.raises(UsageError):
        reject_unwritable_file(tmp_path / name)
    with pytest.raises(UsageError):
        write_text(tmp_path / name, "x")
    assert names(tmp_path) == before


def test_a_full_folder_is_found_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reject_unwritable_folder(tmp_path / "not" / "yet")

    def full(**_options: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with raises_mentioning(UsageError, "yet", "No space left"):
        reject_unwritable_folder(tmp_path / "not" / "yet")
    assert not names(tmp_path)


@posix
def test_appending_to_a_full_device_or_a_pipe_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (
        tmp_path / "pipe",
        tmp_path / "none" / "x",
        *([Path("/dev/full")] if Path("/dev/full").exists() else []),
    ):
        with raises_mentioning(UsageError, str(path)):
            append_text(path, "x")
    for _ in range(2):
        append_text(tmp_path / "a", "x\n")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "x\nx\n"


@posix
def test_temporary_files_of_dead_processes_are_deleted_and_those_of_living_ones_kept(tmp_path: Path) -> None:
    old = time.time() - 3600
    for name in (".a.txt.dead.part", ".b.txt.dead.part", ".a.txt.new.part"):
        (tmp_path / name).write_text("x")
    (tmp_path / "tiltmeter-dead.part").mkdir()
    with create_temporary_folder(tmp_path) as living, write_atomically(tmp_path / "a.txt") as part:
        for path in tmp_path.iterdir():
            if "new" not in path.name:
                os.utime(path, (old, old))
        write_text(tmp_path / "a.txt", "x")
        with create_temporary_folder(tmp_path):
            pass
        assert living.is_dir()
        assert part.exists()
    # Those of other files are deleted when these files are written; a new one may not be locked yet.
    assert names(tmp_path) == [".a.txt.new.part", ".b.txt.dead.part", "a.txt"]


@posix
def test_leftovers_of_a_killed_process_are_deleted_immediately(tmp_path: Path) -> None:
    def write() -> None:
        with create_temporary_folder(tmp_path) as folder, write_atomically(tmp_path / "a.txt") as part:
            part.write_text("half")
            (folder / "inside").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)

    assert attempt(write).killed
    assert len(names(tmp_path)) == 2
    write_text(tmp_path / "a.txt", "x")
    with create_temporary_folder(tmp_path):
        pass
    assert names(tmp_path) == ["a.txt"]


@posix
def test_a_temporary_file_that_was_deleted_before_it_was_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, deleted = files.fcntl.flock, []

    def late(handle: int, how: int) -> None:
        if not deleted:
            (part,) = tmp_path.iterdir()
            deleted.append(part)
            part.rmdir() if part.is_dir() else part.unlink()
        lock(handle, how)

    monkeypatch.setattr(files.fcntl, "flock", late)
    write_text(tmp_path / "a.txt", "x")
    assert (tmp_path / "a.txt").read_text() == "x"
    (tmp_path / "a.txt").unlink()
    deleted.clear()
    with create_temporary_folder(tmp_path) as folder:
        assert folder.is_dir()
        assert deleted != [folder]


@posix
def test_files_in_a_shared_cache_are_shared(tmp_path: Path) -> None:
    shared = tmp_path / "cache"
    shared.mkdir()
    before = os.umask(0o077)
    try:
        shared.chmod(0o2775)
        create_shared_folder(shared / "gguf" / "a")
        (shared / "f").write_text("x")
        copy_folder_permissions(shared / "f")
        create_shared_folder(tmp_path / "own")
        with create_temporary_folder(shared / "gguf") as part:
            files.make_readable(part)
            assert stat.S_IMODE(part.stat().st_mode) & 0o070 == 0o070
    finally:
        os.umask(before)
    assert stat.S_IMODE((shared / "gguf" / "a").stat().st_mode) & 0o2070 == 0o2070
    assert stat.S_IMODE((shared / "f").stat().st_mode) & 0o060 == 0o060
    assert files.get_lock_mode(shared / "x.lock") == 0o664


@posix
def test_only_regular_files_of_a_bounded_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    reasons = {
        "pipe": "not a regular file",
        "zero": "not a regular file",
        "link": "a link to",
        "huge": "the maximum is",
        ".": "a folder",
        "none": "No such file",
        "x" * 300: "File name too long",
        "a\0b": "null",
    }
    for name, reason in reasons.items():
        with raises_mentioning(DataError, reason):
            text_files.read_bytes(tmp_path / name)


@pytest.mark.parametrize("read", [text_files.read_json, text_files.read_toml])
@pytest.mark.parametrize("content", [b"a = " + b"[" * 100_000, b"[" * 100_000, b"\xff\xfe", b"{]", b'{"a":' * 100_000])
def test_invalid_settings_are_an_error_with_the_file(read: Any, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    with raises_mentioning(DataError, f"{tmp_path / 'f'} is not"):
        read(tmp_path / "f")


def test_the_home_of_an_unknown_user_is_an_error() -> None:
    with raises_mentioning(UsageError, "~nobody-of-this-name/x", "unknown user"):
        text_files.expand_home("~nobody-of-this-name/x")


def test_the_home_of_an_unknown_user_is_not_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for write in (
        reject_unwritable_file,
        reject_unwritable_folder,
        files.create_folder,
        lambda path: write_text(path, "x"),
    ):
        with raises_mentioning(UsageError, "~nobody-of-this-name", "unknown user"):
            write(Path("~nobody-of-this-name/x"))
    assert not names(tmp_path)
    Path(tmp_path / "~mine").mkdir()
    write_text(Path("~mine/x"), "x")
