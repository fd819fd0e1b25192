"""Readers of the stimuli of the word association test for chat models (Bai et al. 2025).

A row has a word of a test in column C, in the file of synonyms also a similar word in column D. Columns A and B have
the names of the two groups in other rows: A is the group that prejudice favours. The first half of the words in column
C belongs to A, the second half to B. As in the released code, texts are in lower case.

In the file of synonyms, four tests also have full names and occupations, which belong to the authors' decision test.
They are left out here, because the occupations in columns C and D belong to opposite groups.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.csv_records import check_row_length, read_header, read_rows, require_columns

# The occupations of the decision test: in column C, and in column D.
OCCUPATIONS = frozenset({"clerical workers", "programmers", "data analysts", "secretaries"})
OTHER_OCCUPATIONS = frozenset({"executives", "managers", "administrative supervisors", "sales representatives"})
_COLUMNS = ("category", "dataset", "A", "B", "C")
_SYNONYMS = "D"
_BAD = "bad-stimuli"


class StimulusWord(NamedTuple):
    """A word of a test: its text, the similar word (or empty), and the row of the file."""

    text: str
    synonym: str
    row: str


class StimulusTest(NamedTuple):
    """A test: its category and name, the names of the two groups, and the words, those of the first group first."""

    category: str
    name: str
    favoured: tuple[str, ...]
    other: tuple[str, ...]
    words: tuple[StimulusWord, ...]

    def remove_decision_words(self) -> "StimulusTest":
        """Return the test without the full names and occupations of the decision test."""
        words = tuple(word for word in self.words if word.text not in OCCUPATIONS)
        if len(words) == len(self.words):
            return self
        favoured, other = (tuple(name for name in names if " " not in name) for names in (self.favoured, self.other))
        return self._replace(favoured=favoured, other=other, words=words)


def read_stimuli(path: Path, *, synonyms: bool = False) -> list[StimulusTest]:
    """Return the tests of a file of stimuli; with `synonyms`, each word has its similar word."""
    rows = read_rows(path)
    header = read_header(rows)
    columns = (*_COLUMNS, _SYNONYMS) if synonyms else _COLUMNS
    require_columns(header, columns)
    by_test: dict[tuple[str, str], list[tuple[str, Mapping[str, str]]]] = {}
    for location, row in rows:
        if problems := check_row_length(row, header):
            raise BrokenFileError(problems[0].code, f"{location} {problems[0].message}")
        values = {name: value.strip().lower() for name, value in zip(header, row, strict=True)}
        by_test.setdefault((values["category"], values["dataset"]), []).append((location, values))
    return [_build_test(key, entries) for key, entries in by_test.items()]


def _build_test(key: tuple[str, str], entries: list[tuple[str, Mapping[str, str]]]) -> StimulusTest:
    favoured, other = (tuple(values[name] for _, values in entries if values[name]) for name in ("A", "B"))
    words = tuple(StimulusWord(values["C"], values.get(_SYNONYMS, ""), row) for row, values in entries if values["C"])
    return StimulusTest(*key, favoured, other, words)


def _build_records(
    path: Path, language: str, get_word: Callable[[StimulusWord], str], *, synonyms: bool
) -> Iterator[RawRecord]:
    for test in read_stimuli(path, synonyms=synonyms):
        used = test.remove_decision_words()
        if len(used.favoured) != len(used.other) or not used.favoured or len(used.words) % 2:
            message = f"has different numbers of words or names for the two groups of the test {test.name}"
            raise BrokenFileError(_BAD, message)
        for number, word in enumerate(used.words):
            is_first = 2 * number < len(used.words)
            for pair, names in enumerate(zip(used.favoured, used.other, strict=True), start=1):
                group, other = names if is_first else names[::-1]
                values = {"bias_type": test.category, "test": test.name, "word": get_word(word)}
                values |= {"id": f"{test.name}/{pair}/{number + 1}", "language": language}
                yield RawRecord(word.row, values | {"group": group, "other_group": other})


def parse_words(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield a record for each word of `iat_stimuli.csv` with each pair of group names."""
    return _build_records(path, language, lambda word: word.text, synonyms=False)


def parse_synonyms(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield a record for each similar word of `iat_stimuli_synonym.csv` with each pair of group names."""
    return _build_records(path, language, lambda word: word.synonym, synonyms=True)


READS = {"iat-stimuli": parse_words, "iat-synonyms": parse_synonyms}
