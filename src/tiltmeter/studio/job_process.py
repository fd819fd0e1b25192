"""The process that carries out a job: `python -m tiltmeter.studio.job_process FOLDER`."""

import _thread
import json
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import Timeout

from tiltmeter.cluster.timing_store import Timing, TimingStore
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import write_text
from tiltmeter.redaction import redact_secrets
from tiltmeter.safe_output import guard_output
from tiltmeter.studio.job_files import OUTCOME, PROGRESS, QUEUED, STOP, create_job_lock, read_json
from tiltmeter.studio.job_files import REQUEST as REQUEST_FILE
from tiltmeter.studio.run_request import RunRequest, find_form
from tiltmeter.studio.studio_workspace import STUDIO_DATABASE, StudioWorkspace

if TYPE_CHECKING:
    from tiltmeter.runs.result import Result
    from tiltmeter.studio.job_progress import JobProgress

logger = logging.getLogger(__name__)

# Seconds to wait for the lock, which a studio that looks at the job holds for a moment.
_LOCK_TIMEOUT = 10.0
# Seconds between two looks for a request to stop, and until a computation that does not end is ended by force.
_LOOK = 0.2
_PATIENCE = 20.0
_STOPPED = "Stopped; answers so far are kept, and it can go on."


def main(folder: Path) -> int:
    """Carry out the job in a folder, unless another process does or did."""
    try:
        with create_job_lock(folder, timeout=_LOCK_TIMEOUT):
            if not (folder / QUEUED).exists():
                return 0
            (folder / OUTCOME).unlink(missing_ok=True)
            (folder / QUEUED).unlink()
            try:
                state, sentence = _carry_out(folder)
            except KeyboardInterrupt:  # it came while another end was being noticed
                state, sentence = "stopped", _STOPPED
            _write_outcome(folder, state, sentence)
            return 0
    except Timeout:
        return 0


def _carry_out(folder: Path) -> tuple[str, str]:
    """Make the run; how it ended, and a sentence on it."""
    # Python makes a KeyboardInterrupt of SIGINT, unless the process that started it ignores that signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ended, made = threading.Event(), threading.Event()
    threading.Thread(target=_watch_for_stop, args=(folder, ended), daemon=True).start()
    try:
        _make_run(folder, made)
    except KeyboardInterrupt:
        if not made.is_set():  # a run that is written has not been stopped
            return "stopped", _STOPPED
    except TiltmeterError as error:
        return "failed", str(error)
    except MemoryError:
        return "failed", "The memory of this machine does not suffice for this model."
    except Exception as error:
        logger.exception("The run failed.")
        return "failed", redact_secrets(f"{type(error).__name__}: {error} (the job's log.txt says more)")
    finally:
        ended.set()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return "finished", ""


def _watch_for_stop(folder: Path, ended: threading.Event) -> None:
    """Interrupt the run when the studio asks to; by force if it does not react."""
    while not (folder / STOP).exists():
        if ended.wait(_LOOK):
            return
    if ended.is_set():
        return
    _interrupt()
    if not ended.wait(_PATIENCE):
        _write_outcome(folder, "stopped", _STOPPED)
        os._exit(0)  # stored answers are safe: each batch is one transaction


def _interrupt() -> None:
    """Raise KeyboardInterrupt in the main thread, also where it waits for a lock or a server."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _write_outcome(folder: Path, state: str, sentence: str) -> None:
    """Write how it ended."""
    write_text(folder / OUTCOME, json.dumps({"state": state, "sentence": sentence}, ensure_ascii=False))


def _make_run(folder: Path, made: threading.Event) -> None:
    """Make the run; `made` is set as soon as its folder is written."""
    from tiltmeter.runs.chat_budget import ChatOptions
    from tiltmeter.runs.evaluate import evaluate
    from tiltmeter.studio.job_progress import JobProgress

    request = RunRequest.from_dict(read_json(folder / REQUEST_FILE))
    progress = JobProgress(folder / PROGRESS)
    chat = ChatOptions(price_in=request.price_in, price_out=request.price_out, max_requests=request.max_requests)
    workspace = StudioWorkspace(folder.parents[2])
    with progress.writing():
        result = evaluate(
            list(request.models),
            list(request.on),
            protocol=request.protocol,
            limit=request.limit,
            tokenizer=request.tokenizer,
            chat=chat if request.chats else None,
            out=workspace.get_run_folder(request.name),
            watch=progress.watch,
            so_far=progress.so_far,
            tell=progress.tell,
        )
        made.set()
    try:
        with TimingStore(workspace.state / STUDIO_DATABASE) as timings:
            timings.add(_compute_timings(request, result, progress, workspace))
    except TiltmeterError as error:  # the run is written; only the next estimate is poorer
        logger.warning("%s", error)


def _compute_timings(
    request: RunRequest, result: "Result", progress: "JobProgress", workspace: StudioWorkspace
) -> list[Timing]:
    """What each model took; those whose answers were all stored tell nothing."""
    now = time.monotonic()
    models: dict[str, dict[str, Any]] = {str(model["name"]): dict(model) for model in result.manifest["models"]}
    forms = sorted({find_form(spec, workspace) for spec in request.on})
    items = sum(int(entry["items"]) for entry in result.manifest["data"])
    found: dict[str, Timing] = {}
    before = progress.began
    for stage in progress.stages:
        name, _, kind = stage.label.rpartition(" (")
        model, start, before = models.get(name, {}), before, stage.ended
        if stage.loaded is None:
            continue
        # With a single batch there is no pace after the first one: loading is then part of the pace.
        one_batch = stage.at_load == stage.questions
        asked_from = stage.began if one_batch else stage.loaded
        timing = Timing(
            model=name,
            kind=kind.rstrip(")"),
            bytes=model.get("bytes"),
            device=", ".join((model.get("compute") or {}).get("hardware") or [str(model.get("device", "server"))]),
            forms=" ".join(forms),
            protocol=request.protocol,
            items=items,
            questions=stage.questions,
            start_seconds=asked_from - start,
            asked=stage.questions - (stage.stored if one_batch else stage.at_load),
            asking_seconds=stage.ended - asked_from,
            end_seconds=now - progress.stages[-1].ended,
        )
        # A model with a next-sentence head has two stages.
        found[name] = found[name].combine_with(timing) if name in found else timing
    return list(found.values())


if __name__ == "__main__":
    with guard_output():
        logging.basicConfig(level=logging.WARNING)
        sys.exit(main(Path(sys.argv[1])))
