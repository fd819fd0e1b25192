"""A file for the `.eval_results` folder of a model on the hub.

The hub shows such a result where the data set is registered as a benchmark, and under the task ids that its eval.yaml
has, so the data set's id is asked for unless it is known.
"""

from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in __all__

import tiltmeter
from tiltmeter.errors import UsageError
from tiltmeter.reports.exports.chosen import SOURCE, Options, choose, in_words, slug
from tiltmeter.runs.result import Result

# Where the hub has the very items that were asked. Translations and editions of our own choosing are not there.
DATASETS = {
    "stereoset-original": "McGill-NLP/stereoset",
    "crows-pairs": "nyu-mll/crows_pairs",
    "winobias": "uclanlp/wino_bias",
}


def export(result: Result, options: Options) -> str:
    """YAML, to be saved as .eval_results/NAME.yaml in the model's repository."""
    chosen = choose(result, options.model)
    entries = [
        EvalResultEntry(
            dataset_id=_dataset(record.benchmark, options),
            task_id=slug(record.part, record.language, record.measure),
            value=round(record.value, 4),
            date=result.manifest.get("finished"),
            source_url=SOURCE,
            source_name=f"Tiltmeter {tiltmeter.__version__}",
            notes=in_words(record, result.manifest),
        )
        for record in chosen.records
    ]
    return str(yaml_dump(eval_result_entries_to_yaml(entries)))


def _dataset(benchmark: str, options: Options) -> str:
    identifier = options.dataset_id or DATASETS.get(benchmark)
    if identifier is None:
        raise UsageError(
            f"The hub wants the id of the data set that {benchmark} is registered as, and none is known; name it with "
            f"--dataset-id, as in --dataset-id your-name/{benchmark}."
        )
    if identifier.count("/") != 1 or not all(identifier.split("/")):
        raise UsageError(f"--dataset-id {identifier} is not an id of the hub, which is OWNER/NAME.")
    return identifier
