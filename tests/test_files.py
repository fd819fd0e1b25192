"""Writing files: whole or not at all, checked before the work, and nothing left behind."""

import errno
import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from perf.killing import attempt
from tiltmeter import files, text_files
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import (
    append_text,
    create_shared_folder,
    create_temporary_folder,
    reject_unwritable_file,
    reject_unwritable_folder,
    share_like_folder,
    write_atomically,
    write_text,
)

posix = pytest.mark.skipif(os.name != "posix", reason="devices, pipes and permissions of POSIX")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_full_disk_keeps_the_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_text(path, "old")
    with (
        pytest.raises(UsageError, match=r"report\.html cannot be written: No space left on device"),
        write_atomically(path),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["report.html"]


def test_a_disk_that_fails_at_the_last_moment_keeps_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    write_text(path, "old")

    def full(_handle: int) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="Disk quota exceeded"):
        write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["report.html"]


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "x\ud800y")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "x?y"


@posix
@pytest.mark.parametrize("name", ["file/x", "x" * 300, "link/x", "pipe", "/dev/full", "nul\0l"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(name: str, tmp_path: Path) -> None:
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
    with pytest.raises(UsageError, match="No space left on device"):
        reject_unwritable_folder(tmp_path / "not" / "yet")
    assert not names(tmp_path)


@posix
def test_appending_to_a_full_device_or_a_pipe_is_a_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (
        tmp_path / "pipe",
        tmp_path / "none" / "x",
        *([Path("/dev/full")] if Path("/dev/full").exists() else []),
    ):
        with pytest.raises(UsageError, match="cannot be written"):
            append_text(path, "x")
    for _ in range(2):
        append_text(tmp_path / "a", "x\n")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "x\nx\n"


@posix
def test_parts_of_dead_processes_are_swept_and_those_of_living_ones_not(tmp_path: Path) -> None:
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
    # A part of another file is left to whoever writes that file, a new one may be about to be locked.
    assert names(tmp_path) == [".a.txt.new.part", ".b.txt.dead.part", "a.txt"]


@posix
def test_what_a_killed_process_left_is_swept_at_once(tmp_path: Path) -> None:
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
def test_a_new_part_that_was_swept_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = files.fcntl.flock, []

    def late(handle: int, how: int) -> None:
        if not swept:
            (part,) = tmp_path.iterdir()
            swept.append(part)
            part.rmdir() if part.is_dir() else part.unlink()
        lock(handle, how)

    monkeypatch.setattr(files.fcntl, "flock", late)
    write_text(tmp_path / "a.txt", "x")
    assert (tmp_path / "a.txt").read_text() == "x"
    (tmp_path / "a.txt").unlink()
    swept.clear()
    with create_temporary_folder(tmp_path) as folder:
        assert folder.is_dir()
        assert swept != [folder]


@posix
def test_what_is_written_to_a_shared_cache_is_shared(tmp_path: Path) -> None:
    shared = tmp_path / "cache"
    shared.mkdir()
    before = os.umask(0o077)
    try:
        shared.chmod(0o2775)
        create_shared_folder(shared / "gguf" / "a")
        (shared / "f").write_text("x")
        share_like_folder(shared / "f")
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
        "pipe": "no regular file",
        "zero": "no regular file",
        "link": "a link to a file that is not there",
        "huge": "are the most",
        ".": "a folder",
        "none": "No such file",
        "x" * 300: "File name too long",
        "a\0b": "null",
    }
    for name, reason in reasons.items():
        with pytest.raises(DataError, match=reason):
            text_files.read_bytes(tmp_path / name)


@pytest.mark.parametrize("read", [text_files.read_json, text_files.read_toml])
@pytest.mark.parametrize("content", [b"a = " + b"[" * 100_000, b"[" * 100_000, b"\xff\xfe", b"{]", b'{"a":' * 100_000])
def test_settings_that_cannot_be_read_are_a_sentence(read: Any, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(DataError, match=r"f is not"):
        read(tmp_path / "f")


def test_the_home_of_somebody_unknown_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="a user who is not known here"):
        text_files.expand_home("~nobody-of-this-name/x")


def test_the_home_of_somebody_unknown_is_no_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for write in (
        reject_unwritable_file,
        reject_unwritable_folder,
        files.create_folder,
        lambda path: write_text(path, "x"),
    ):
        with pytest.raises(UsageError, match="a user who is not known here"):
            write(Path("~nobody-of-this-name/x"))
    assert not names(tmp_path)
    Path(tmp_path / "~mine").mkdir()
    write_text(Path("~mine/x"), "x")
