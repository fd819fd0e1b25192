"""Score all published predictions in a folder; files that cannot be used are skipped."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tiltmeter.datasets.dataset_spec import parse_spec
from tiltmeter.errors import DataError, UsageError
from tiltmeter.progress.progress import Progress, ReportProgress
from tiltmeter.runs.prediction_run import score_predictions
from tiltmeter.runs.result import Result
from tiltmeter.runs.scoring_methods import infer_model_name

# Called with a file and the reason why it is skipped.
OnSkip = Callable[[Path, str], None]


def score_prediction_folder(
    folder: Path, form: str, on: str, report: ReportProgress, skip: OnSkip
) -> Iterator[tuple[str, Result]]:
    """Yield the name and the result of each file of predictions in a folder.

    If `on` names no language, the name of each file must end in its language. `skip` is called for each file that
    cannot be used.
    """
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not files:
        raise UsageError(f"{folder} has no files of predictions; their names end in .json.")
    for number, file in enumerate(files):
        report(Progress(number, len(files), note=file.name))
        try:
            spec = on if parse_spec(on).languages else f"{on}:{_find_language(file)}"
            yield file.stem, score_predictions(file, form=form, on=spec, model=infer_model_name(file.stem))
        except (DataError, UsageError) as error:
            skip(file, str(error))
    report(Progress(len(files), len(files)))


def _find_language(file: Path) -> str:
    code = file.stem.rpartition("_")[2]
    if not (2 <= len(code) <= 3 and code.isalpha() and code.islower()):
        raise DataError("The file name does not end in a language, such as _en.json; give the language with --on.")
    return code
