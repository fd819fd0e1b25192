"""The process that runs a job; the studio starts it with `python -m tiltmeter.studio.job_process FOLDER`."""

import _thread
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from tiltmeter.cluster.job_lock import JobLock, JobTakenError
from tiltmeter.cluster.job_signals import describe_failure, exit_after_takeover, raise_on_signals
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import write_text
from tiltmeter.progress.progress_file import ProgressFile
from tiltmeter.runs.timing_store import TimingStore
from tiltmeter.safe_output import guard_output
from tiltmeter.studio.job_files import OUTCOME, PROGRESS, QUEUED, STOP, read_json
from tiltmeter.studio.job_files import REQUEST as REQUEST_FILE
from tiltmeter.studio.run_request import RunRequest
from tiltmeter.studio.studio_workspace import STUDIO_DATABASE, StudioWorkspace

logger = logging.getLogger(__name__)

# Seconds between two checks for a stop request, and seconds from a stop request until the process is killed.
_POLL_INTERVAL = 0.2
_PATIENCE = 20.0
_STOPPED = "Stopped. The stored answers are kept; the run can be continued."


def main(folder: Path) -> int:
    """Run the job in a folder; do nothing if another process is running the job or has already run it."""
    try:
        with JobLock(folder, on_lost=exit_after_takeover):
            if not (folder / QUEUED).exists():
                return 0
            (folder / OUTCOME).unlink(missing_ok=True)
            (folder / QUEUED).unlink()
            try:
                state, sentence = _run_job(folder)
            except KeyboardInterrupt:
                # The interrupt arrived while `_run_job` handled another exception.
                state, sentence = "stopped", _STOPPED
            _write_outcome(folder, state, sentence)
            return 0
    except JobTakenError:
        return 0


def _run_job(folder: Path) -> tuple[str, str]:
    """Run the job; return its final state and a sentence that explains the state."""
    raise_on_signals()
    ended, made = threading.Event(), threading.Event()
    threading.Thread(target=_watch_for_stop, args=(folder, ended), daemon=True).start()
    try:
        _make_run(folder, made)
    except KeyboardInterrupt:
        # If `made` is set, the run is already written, so the job is finished.
        if not made.is_set():
            return "stopped", _STOPPED
    except Exception as error:
        return "failed", describe_failure(error)
    finally:
        ended.set()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return "finished", ""


def _watch_for_stop(folder: Path, ended: threading.Event) -> None:
    """Wait for a stop request, then interrupt the run; kill the process if it does not end within _PATIENCE seconds."""
    while not (folder / STOP).exists():
        if ended.wait(_POLL_INTERVAL):
            return
    if ended.is_set():
        return
    _interrupt_main_thread()
    if not ended.wait(_PATIENCE):
        _write_outcome(folder, "stopped", _STOPPED)
        # No stored answers are lost, because each batch of answers is one transaction.
        os._exit(0)


def _interrupt_main_thread() -> None:
    """Raise a KeyboardInterrupt in the main thread, even if the main thread is waiting for a lock or a server."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _write_outcome(folder: Path, state: str, sentence: str) -> None:
    write_text(folder / OUTCOME, json.dumps({"state": state, "sentence": sentence}, ensure_ascii=False))


def _make_run(folder: Path, made: threading.Event) -> None:
    """Measure the models and write the run, then set the event `made` and store the timings."""
    from tiltmeter.runs.evaluate import measure_models
    from tiltmeter.runs.run_timings import compute_timings

    request = RunRequest.from_dict(read_json(folder / REQUEST_FILE))
    progress = ProgressFile(folder / PROGRESS)
    workspace = StudioWorkspace(folder.parents[2])
    with progress.write_periodically():
        result = measure_models(
            list(request.models),
            list(request.on),
            request.build_settings(),
            request.build_model_options(),
            out=workspace.get_run_folder(request.name),
            watch=progress.watch_progress,
            so_far=progress.record_interim_values,
            tell=progress.record_message,
        )
        made.set()
    try:
        with TimingStore(workspace.state / STUDIO_DATABASE) as timings:
            timings.add_timings(compute_timings(result, progress.stages, progress.began))
    except TiltmeterError as error:
        # The run does not fail, because timings only improve time estimates.
        logger.warning("%s", error)


if __name__ == "__main__":
    with guard_output():
        logging.basicConfig(level=logging.WARNING)
        sys.exit(main(Path(sys.argv[1])))
