"""The HTML reports of runs; a report is created when it is first requested."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from tiltmeter.runs.run_files import MANIFEST, MEASURES

# Copied from `reports.report_files`, because importing that module takes a second.
REPORT = "report.html"


class RunReports:
    """Creates reports in a background thread, one report at a time."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reports")
        self._making: dict[Path, Future[None]] = {}
        self._lock = threading.Lock()

    def get_report(self, folder: Path) -> Path | None:
        """Return the path of the report of a run.

        If the report is missing or outdated, start to create it and return None. If the report cannot be
        created, one call raises the error, and the next call tries again.
        """
        with self._lock:
            making = self._making.get(folder)
            if making is not None:
                if not making.done():
                    return None
                del self._making[folder]
                making.result()
                # `is_current` is not checked here: it is false if the files of the run are dated in the future.
                return folder / REPORT
            if is_current(folder):
                return folder / REPORT
            self._making[folder] = self._thread.submit(_make_report, folder)
            return None

    def wait_for_report(self, folder: Path) -> Path:
        """Wait until the report of a run exists, and return its path."""
        while (path := self.get_report(folder)) is None:
            with self._lock:
                making = self._making.get(folder)
            if making is not None:
                wait([making])
        return path

    def close(self) -> None:
        """Create no more reports, except the report that is being created."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def is_current(folder: Path) -> bool:
    """Return whether a run has a report that is not older than the run; a symbolic link is not accepted as a report."""
    try:
        if (folder / REPORT).is_symlink():
            return False
        made = (folder / REPORT).stat().st_mtime_ns
        return all((folder / name).stat().st_mtime_ns <= made for name in (MANIFEST, MEASURES))
    except OSError:
        return False


def _make_report(folder: Path) -> None:
    from tiltmeter.api import report

    report(folder)
