"""A file for the `.eval_results` folder of a model on the Hugging Face Hub.

The hub displays these results if the data set is registered there as a benchmark, with the task ids of its eval.yaml.
Therefore the id of the data set must be given unless it is known.
"""

from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in __all__

import tiltmeter
from tiltmeter.errors import UsageError
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import SOURCE, build_slug, describe_record, select_model
from tiltmeter.runs.result import Result

# The data sets on the hub with exactly the same items; there are none for translations and other editions.
DATASETS = {
    "stereoset-original": "McGill-NLP/stereoset",
    "crows-pairs": "nyu-mll/crows_pairs",
    "winobias": "uclanlp/wino_bias",
}


def export(result: Result, options: ExportOptions) -> str:
    """Return the results as YAML, to be saved as .eval_results/NAME.yaml in the model's repository."""
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
