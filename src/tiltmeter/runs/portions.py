"""Portions: the items of one data set, part and language, with the hashes of their files."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.benchmarks.reply_scorers import get_reply_scorer
from tiltmeter.datasets import Spec, parse_spec
from tiltmeter.datasets.dataset_loader import get_dataset, load_with_findings
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.validation_findings import Finding
from tiltmeter.forms import Item, get_form, get_item_form
from tiltmeter.forms.own_prompts import OwnPromptItem
from tiltmeter.measures import get_measure_module
from tiltmeter.registry import identify_component
from tiltmeter.runs.manifest import Components, DataEntry

# The value of `part` for data sets that are not divided into parts.
UNDIVIDED = "all"


@dataclass(frozen=True, slots=True)
class Portion:
    """The items of one data set, part and language; `files` maps file names to SHA-256 hashes.

    `warnings` maps the code of each warning that affects the interpretation of results to the ids of its items.
    `left_out` has the findings about rows that contain no usable item; if several portions share a file, only the first
    portion has these findings.
    """

    name: str
    form: str
    part: str
    language: str
    items: Sequence[Any]
    files: dict[str, str]
    warnings: Mapping[str, frozenset[str]] = field(default_factory=dict)
    left_out: Sequence[Finding] = ()

    def split_into_parts(self, parts: Sequence[str]) -> list["Portion"]:
        """Return a copy of these items for each of `parts`; only the portion itself if it already is one part."""
        return [replace(self, part=part) for part in parts] if parts and self.part == UNDIVIDED else [self]

    def get_key_columns(self) -> dict[str, str]:
        """Return the names and values of the columns that identify this portion in tables."""
        return {"benchmark": self.name, "part": self.part, "language": self.language}

    def describe(self, available: int, *, is_chat: bool = False) -> DataEntry:
        """Return the portion's entry for the manifest; `available` is the number of items before sampling."""
        return DataEntry(
            **self.get_key_columns(),
            items=len(self.items),
            available=available,
            files=self.files,
            warnings=self.count_warnings(),
            components=self.identify_components(is_chat=is_chat),
        )

    def identify_components(self, *, is_chat: bool) -> Components:
        """Return the portion's form, benchmark, measures and scorers, with the packages that contain them."""
        module = select_measure_module(self, is_chat=is_chat)
        prompts = [item for item in self.items if is_chat and isinstance(item, OwnPromptItem)]
        scorers = [get_reply_scorer(name) for name in sorted({item.scorer for item in prompts} - {""})]
        return Components(
            identify_component("forms", self.form, get_form(self.form)),
            identify_component("benchmarks", self.form, get_benchmark(self.form)),
            identify_component("measures", module, get_measure_module(module)),
            tuple(identify_component("scorers", scorer.name, scorer) for scorer in scorers) or None,
        )

    def count_warnings(self) -> dict[str, int]:
        """Return the number of items with each warning, by the code of the warning."""
        ids = {item.id for item in self.items} if self.warnings else set()
        counts = {code: len(ids & warned) for code, warned in sorted(self.warnings.items())}
        return {code: count for code, count in counts.items() if count}


def select_measure_module(portion: Portion, *, is_chat: bool) -> str:
    """Return the name of the portion's module of measures: for choices if `is_chat`, otherwise for likelihoods."""
    benchmark = get_benchmark(portion.form)
    return benchmark.choice_measures if is_chat else benchmark.measures


def load_portions(text: str) -> Iterator[Portion]:
    """Yield the portions (data set, part, language) of a specification such as `stereoset/intrasentence:de`."""
    spec = parse_spec(text)
    by_portion: dict[tuple[str, str, str], list[Item]] = {}
    warned: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    left_out: list[Finding] = []

    def get_sort_key(item: Item) -> tuple[str, str, str]:
        form = get_item_form(item)
        return form.name, form.part_of(item) or spec.part or UNDIVIDED, item.language

    for examined in load_with_findings(spec):
        for item in examined.items:
            by_portion.setdefault(get_sort_key(item), []).append(item)
        for item, finding in examined.warned:
            warned.setdefault(get_sort_key(item), {}).setdefault(finding.code, set()).add(item.id)
        left_out += examined.left_out
    files = _list_hashes(spec, {form for form, _, _ in by_portion})
    for portion_key, items in by_portion.items():
        form_name, part, language = portion_key
        used = {
            name: digest
            for name, digest, file_language, file_part in files
            if file_language in (None, language) and file_part in (None, part)
        }
        warnings = {code: frozenset(ids) for code, ids in warned.get(portion_key, {}).items()}
        yield Portion(spec.name, form_name, part, language, items, used, warnings, left_out)
        left_out = []


def _list_hashes(spec: Spec, forms: Collection[str]) -> list[tuple[str, str, str | None, str | None]]:
    """Return (name, SHA-256, language, part) of each file; language or part is None if a file contains several.

    `forms` are the forms of the items.
    """
    if spec.path is not None:
        from tiltmeter.datasets.readers.prompt_groups import list_table_files  # only tables of users need the readers

        paths = list_table_files(spec.path, forms) if spec.path.is_file() else []
        return [(path.name, get_sha256(path), None, None) for path in paths]
    return [
        (file.name, get_sha256(path), source.language, source.part)
        for source in get_dataset(spec.name).select(spec.part, spec.languages)
        for file, path in zip(source.files, source.fetch_files(), strict=True)
    ]
