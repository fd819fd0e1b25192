"""The tasks of a translation run: items of a data set or file, and the languages to translate between."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tiltmeter.datasets.dataset_loader import DATASETS
from tiltmeter.datasets.dataset_spec import EDITIONS, Spec, parse_spec
from tiltmeter.errors import UsageError
from tiltmeter.forms import get_form
from tiltmeter.measures import get_measure_module
from tiltmeter.registry import identify_component
from tiltmeter.runs.manifest import Components, DataEntry
from tiltmeter.runs.portions import UNDIVIDED, Portion, load_portions
from tiltmeter.runs.run_preparation import limit_items
from tiltmeter.runs.translation import list_translation_tests
from tiltmeter.runs.translation.translation_test import Direction, TranslationTest
from tiltmeter.translators.translator_protocol import SOURCE

GEST_MT = "gest-mt"
LATEST = "1.1"
# The suffix in the names of benchmarks whose sentences can be translated into any language.
SUFFIX = "-mt"


@dataclass(frozen=True, slots=True)
class TranslationTask:
    """The items of one part that are to be translated from one language into another."""

    benchmark: str
    test: TranslationTest
    direction: Direction
    portion: Portion
    part: str
    edition: str | None
    available: int

    @property
    def items(self) -> Sequence[Any]:
        """The items of the task."""
        return self.portion.items

    def list_texts(self) -> list[str]:
        """Return for each item the text to translate."""
        return [self.test.text(item) for item in self.items]

    def get_key_columns(self) -> dict[str, str]:
        """Return the names and values of the columns that identify the task in tables."""
        return {"benchmark": self.benchmark, "part": self.part, "language": self.direction.label}

    def describe(self) -> DataEntry:
        """Return the task's entry for the manifest; `item_language` is the language of the items in their data set."""
        form, module = self.test.form, self.test.measures
        return DataEntry(
            benchmark=self.benchmark,
            part=self.part,
            language=self.direction.label,
            source=self.portion.name,
            item_language=self.portion.language,
            items=len(self.items),
            available=self.available,
            files=self.portion.files,
            edition=self.edition,
            components=Components(
                identify_component("forms", form, get_form(form)),
                identify_component("translation_tests", form, self.test),
                identify_component("measures", module, get_measure_module(module)),
            ),
        )


@dataclass(frozen=True, slots=True)
class TranslationTarget:
    """All tasks of a specification such as `gest-mt:sk,uk`."""

    benchmark: str
    source: str
    test: TranslationTest
    edition: str | None
    tasks: tuple[TranslationTask, ...]

    @property
    def directions(self) -> list[Direction]:
        """The directions (source and target languages) of all tasks, without duplicates."""
        return list(dict.fromkeys(task.direction for task in self.tasks))

    def list_tasks(self, direction: Direction) -> list[TranslationTask]:
        """Return the tasks in one direction."""
        return [task for task in self.tasks if task.direction == direction]

    def list_texts(self, direction: Direction | None = None) -> list[str]:
        """Return the texts to translate in one direction; in all directions if `direction` is None."""
        return [text for task in self.tasks if direction in (None, task.direction) for text in task.list_texts()]

    def limit_items(self, limit: int | None) -> "TranslationTarget":
        """Return a copy of the translation target in which each task has at most `limit` items."""
        if limit is not None and limit < 1:
            raise UsageError(f"The limit is {limit} items; --limit must be at least 1.")
        tasks = (replace(task, portion=limit_items(task.portion, limit)) for task in self.tasks)
        return replace(self, tasks=tuple(tasks))

    def list_portions(self) -> list[Portion]:
        """Return one portion (data set, part, language) for each task, with the items and the label of the task."""
        return [
            replace(task.portion, name=self.benchmark, part=task.part, language=task.direction.label)
            for task in self.tasks
        ]

    def describe(self) -> list[DataEntry]:
        """Return the entries of all tasks for the manifest."""
        return [task.describe() for task in self.tasks]


def list_editions(on: str) -> tuple[str, ...]:
    """Return the editions (published versions) of GEST that a file of translations may belong to, the latest first."""
    return tuple(sorted(EDITIONS, reverse=True)) if parse_spec(on).name == GEST_MT else (LATEST,)


def reject_edition(on: str, edition: str | None) -> None:
    """Raise a UsageError if an edition is requested for a data set other than GEST."""
    if edition is not None and parse_spec(on).name != GEST_MT:
        raise UsageError(f"{on} has no editions; use {GEST_MT}, or remove --edition.")


def load_target(on: str, edition: str) -> TranslationTarget:
    """Return the tasks of a specification such as `gest-mt:sk` or `starter-neutral-mt:tr-en`."""
    spec = parse_spec(on)
    source = _find_source(on, spec, edition)
    known = edition if spec.name == GEST_MT else None
    if not spec.languages:
        raise UsageError(f"{on} has no target language; add one, for example {spec.name}:es.")
    tests = list_translation_tests()
    if source in DATASETS and tests[DATASETS[source].form].in_target:
        name = f"{source}/{spec.part}" if spec.part else source
        portions = list(load_portions(f"{name}:{','.join(spec.languages)}"))
    else:
        if spec.part is not None:
            raise UsageError(f"{spec.name} has no parts; use {spec.name}:{','.join(spec.languages)}.")
        portions = [portion for portion in load_portions(source) if portion.form in tests]
    if not portions:
        raise UsageError(f"{source} has no items for translation systems.")
    test = tests[portions[0].form]
    tasks: list[TranslationTask] = []
    for language in spec.languages:
        direction = _parse_direction(language)
        wanted = direction.target if test.in_target else direction.source
        matching = [portion for portion in portions if portion.form == test.form and portion.language == wanted]
        if not matching and direction.source == SOURCE and not test.in_target:
            raise UsageError(f"{source} has no English sentences of the form {test.form} to translate.")
        if not matching:
            languages = ", ".join(dict.fromkeys(portion.language for portion in portions))
            raise UsageError(f"{source} has no items for {language!r}; it has {languages}.")
        for portion in matching:
            part = portion.part if test.in_target else UNDIVIDED
            tasks.append(TranslationTask(spec.name, test, direction, portion, part, known, len(portion.items)))
    return TranslationTarget(spec.name, source, test, known, tuple(tasks))


def _parse_direction(language: str) -> Direction:
    """Parse the language of a specification: `sk` means English to Slovak, `tr-en` means Turkish to English."""
    source, _, target = language.rpartition("-")
    return Direction(source, target) if source and target == SOURCE else Direction(SOURCE, language)


def _find_source(on: str, spec: Spec, edition: str) -> str:
    """Return the data set or file that contains the texts to translate for a specification."""
    if spec.path is not None:
        return str(spec.path)
    if spec.name == GEST_MT:
        if edition not in EDITIONS:
            raise UsageError(f"GEST has no edition {edition!r}; choose {' or '.join(EDITIONS)}.")
        return EDITIONS[edition]
    if spec.name in DATASETS and _is_translated_by_name(spec.name):
        return spec.name
    source = spec.name.removesuffix(SUFFIX)
    if (
        not spec.name.endswith(SUFFIX)
        or source not in DATASETS
        or DATASETS[source].form not in list_translation_tests()
    ):
        raise UsageError(
            f"{on} is not a benchmark for translation systems; use {GEST_MT}, mt-geneval or winomt with a language, "
            f"for example {GEST_MT}:sk, or a .jsonl file of sentences."
        )
    return source


def is_translation_benchmark(on: str) -> bool:
    """Return whether a specification names a benchmark for translation systems.

    >>> is_translation_benchmark("gest-mt:sk"), is_translation_benchmark("winomt:es"), is_translation_benchmark("gest")
    (True, True, False)
    """
    name = parse_spec(on).name
    return name.endswith(SUFFIX) or (name in DATASETS and _is_translated_by_name(name))


def _is_translated_by_name(name: str) -> bool:
    """Return whether a data set is only for translation systems, so that its name needs no suffix."""
    form = DATASETS[name].form
    return form in list_translation_tests() and form != "gest"
