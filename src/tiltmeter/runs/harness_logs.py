"""Read the logs of other evaluation tools: samples of the Language Model Evaluation Harness, and logs of Inspect.

lm-eval-samples   a file `samples_TASK_DATE.jsonl` (`lm_eval --log_samples`) of a multiple-choice task, with the
                  log-likelihood of each option
inspect           a log (.eval or .json) of a task with options, with the letter of the chosen option
"""

import json
import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tiltmeter.errors import DataError
from tiltmeter.runs.inspect_task_logs import TaskLog, is_own_task, read_task_log
from tiltmeter.text_files import parse_json, read_json_object, read_text, split_lines


@dataclass(frozen=True, slots=True)
class LoggedQuestion:
    """A question in a log: the prompt, the texts of the options, and the model's answer.

    The answer is the log-likelihood of each option, or the place of the chosen option; `chosen` is None if the log has
    log-likelihoods or if the model chose no option.
    """

    prompt: str
    options: tuple[str, ...]
    likelihoods: tuple[float, ...] = ()
    chosen: int | None = None


@dataclass(frozen=True, slots=True)
class HarnessLog:
    """The questions in a log, and the name of the model.

    `has_choices` says whether the model chose options. `failed` is the number of questions that ended with an error.
    `task` has the replies instead of the questions, if the log is of one of Tiltmeter's own tasks.
    """

    model: str
    questions: list[LoggedQuestion]
    has_choices: bool
    failed: int = 0
    task: TaskLog | None = None


def read_lm_eval_samples(path: Path) -> HarnessLog:
    """Read a file of samples; its folder has the name of the model, in which `__` stands for a slash."""
    questions = [
        _parse_lm_eval_sample(parse_json(line, f"{path}, line {number}"), f"{path}, line {number}")
        for number, line in enumerate(split_lines(read_text(path)), start=1)
        if line.strip()
    ]
    return HarnessLog(path.resolve().parent.name.replace("__", "/"), questions, has_choices=False)


def _parse_lm_eval_sample(sample: Any, place: str) -> LoggedQuestion:
    try:
        arguments, answers = sample["arguments"], sample["filtered_resps"]
        # Version 0.4.3 replaced lists of arguments by objects.
        requests = [tuple(entry.values()) if isinstance(entry, dict) else tuple(entry) for entry in _list(arguments)]
        # The numbers are texts in some versions.
        numbers = tuple(float(answer[0]) for answer in answers)
        options = tuple(str(request[1]).strip() for request in requests)
        if len(options) != len(numbers) or not options or not all(map(math.isfinite, numbers)):
            raise ValueError
        return LoggedQuestion(str(requests[0][0]), options, numbers)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise DataError(
            f"{place} is no sample of a multiple-choice task with the log-likelihood of each option; write the file "
            "with `lm_eval --log_samples`."
        ) from None


def _list(arguments: Any) -> list[Any]:
    return list(arguments.values()) if isinstance(arguments, dict) else list(arguments)


def read_inspect_log(path: Path) -> HarnessLog:
    """Read a log of Inspect with its samples."""
    header, samples = _read_archive(path) if zipfile.is_zipfile(path) else _read_json_log(path)
    failed = sum(isinstance(sample, dict) and bool(sample.get("error")) for sample in samples)
    specification = header.get("eval")
    model = str((specification.get("model") if isinstance(specification, dict) else None) or path.stem)
    if is_own_task(header):
        return HarnessLog(model, [], has_choices=True, failed=failed, task=read_task_log(header, samples, str(path)))
    questions = [
        _parse_inspect_sample(sample, f"{path}, sample {number}")
        for number, sample in enumerate(samples, 1)
        if not (isinstance(sample, dict) and sample.get("error"))
    ]
    return HarnessLog(model, questions, has_choices=True, failed=failed)


def _read_json_log(path: Path) -> tuple[Mapping[str, Any], list[Any]]:
    content = read_json_object(path)
    samples = content.get("samples")
    if not isinstance(samples, list):
        raise DataError(
            f"{path} is no log of Inspect with samples; save the log with its samples (not --no-log-samples)."
        )
    return content, samples


def _read_archive(path: Path) -> tuple[Mapping[str, Any], list[Any]]:
    # Inspect compresses logs in a way that Python reads only with this package, which Inspect brings.
    if find_spec("zipfile_zstd") is not None:
        import_module("zipfile_zstd")
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json")]
            header = json.loads(archive.read("header.json"))
            return header, [json.loads(archive.read(name)) for name in names]
    except (KeyError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} cannot be read as a log of Inspect ({error}); install `tiltmeter[inspect]`, or convert the log "
            "with `inspect log convert --to json`."
        ) from None


def _parse_inspect_sample(sample: Any, place: str) -> LoggedQuestion:
    try:
        options = tuple(str(choice).strip() for choice in sample["choices"])
        written = sample["input"]
        prompt = written if isinstance(written, str) else "\n".join(str(message["content"]) for message in written)
        letters = [str(score.get("answer") or "").strip() for score in (sample.get("scores") or {}).values()]
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"{place} has no options to choose from; give the log of a task with choices.") from None
    places = (ord(letter.upper()) - ord("A") for letter in letters if len(letter) == 1)
    return LoggedQuestion(prompt, options, chosen=next((at for at in places if 0 <= at < len(options)), None))


READERS: dict[str, Callable[[Path], HarnessLog]] = {
    "lm-eval-samples": read_lm_eval_samples,
    "inspect": read_inspect_log,
}
