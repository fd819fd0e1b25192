"""Export to a file for the `.eval_results` folder of a model on the Hugging Face Hub.

The hub displays these results only if the data set is registered on the hub as a benchmark, with the task ids in its
eval.yaml. Therefore the user must give the hub id of the data set, unless DATASETS contains it.
"""

from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in __all__

import tiltmeter
from tiltmeter.errors import UsageError
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import SOURCE, build_slug, describe_record, select_model
from tiltmeter.runs.result import Result

# Hub ids of the data sets that have exactly the same items as a benchmark. Translated and revised benchmarks have none.
DATASETS = {
    "stereoset-original": "McGill-NLP/stereoset",
    "crows-pairs": "nyu-mll/crows_pairs",
    "winobias": "uclanlp/wino_bias",
}


def export(result: Result, options: ExportOptions) -> str:
    """Return the results as YAML, for the file .eval_results/NAME.yaml in the repository of the model."""
    chosen = select_model(result, options.model)
    entries = [
        EvalResultEntry(
            dataset_id=_find_dataset_id(record.benchmark, options),
            task_id=build_slug(record.part, record.language, record.measure),
            value=round(record.value, 4),
            date=result.manifest.finished or None,
            source_url=SOURCE,
            source_name=f"Tiltmeter {tiltmeter.__version__}",
            notes=describe_record(record, result.manifest.data),
        )
        for record in chosen.records
    ]
    return str(yaml_dump(eval_result_entries_to_yaml(entries)))


def _find_dataset_id(benchmark: str, options: ExportOptions) -> str:
    identifier = options.dataset_id or DATASETS.get(benchmark)
    if identifier is None:
        raise UsageError(
            f"The hub id of the data set {benchmark} is unknown; pass it with --dataset-id, as in "
            f"--dataset-id your-name/{benchmark}."
        )
    if identifier.count("/") != 1 or not all(identifier.split("/")):
        raise UsageError(f"--dataset-id {identifier} is not a hub id; use the form OWNER/NAME.")
    return identifier
