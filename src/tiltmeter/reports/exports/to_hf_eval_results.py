"""A file for the `.eval_results` folder of a model on the hub.

The hub shows these results if the data set is registered as a benchmark, under the task ids of its eval.yaml. The id of
the data set must therefore be given unless it is known.
"""

from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in __all__

import tiltmeter
from tiltmeter.errors import UsageError
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import SOURCE, build_slug, describe_record, select_model
from tiltmeter.runs.result import Result

# The data sets on the hub with exactly the same items; translations and other editions have none.
DATASETS = {
    "stereoset-original": "McGill-NLP/stereoset",
    "crows-pairs": "nyu-mll/crows_pairs",
    "winobias": "uclanlp/wino_bias",
}


def export(result: Result, options: ExportOptions) -> str:
    """The results as YAML, to be saved as .eval_results/NAME.yaml in the model's repository."""
    chosen = select_model(result, options.model)
    entries = [
        EvalResultEntry(
            dataset_id=_find_dataset_id(record.benchmark, options),
            task_id=build_slug(record.part, record.language, record.measure),
            value=round(record.value, 4),
            date=result.manifest.get("finished"),
            source_url=SOURCE,
            source_name=f"Tiltmeter {tiltmeter.__version__}",
            notes=describe_record(record, result.manifest),
        )
        for record in chosen.records
    ]
    return str(yaml_dump(eval_result_entries_to_yaml(entries)))


def _find_dataset_id(benchmark: str, options: ExportOptions) -> str:
    identifier = options.dataset_id or DATASETS.get(benchmark)
    if identifier is None:
        raise UsageError(
            f"The hub's id of the data set {benchmark} is not known; give it with --dataset-id, as in "
            f"--dataset-id your-name/{benchmark}."
        )
    if identifier.count("/") != 1 or not all(identifier.split("/")):
        raise UsageError(f"--dataset-id {identifier} is not a hub id; give it as OWNER/NAME.")
    return identifier
