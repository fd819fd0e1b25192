"""Reader of RuBia, a tab-separated file of Russian pairs: a stereotype, and the sentence about another group."""

from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.csv_records import read_records

_NAMES = {"id": "", "more": "pro-trope", "less": "anti-trope", "bias_type": "domain", "subtype": "task_type"}


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of `rubia.tsv`; a subtype is "domain: task type", because domains share names of task types."""

    def complete_values(_number: int, values: dict[str, object]) -> dict[str, object]:
        return values | {"language": language, "subtype": f"{values['bias_type']}: {values['subtype']}"}

    return read_records(path, _NAMES, complete_values, delimiter="\t")


READS = {"rubia-tsv": parse}
