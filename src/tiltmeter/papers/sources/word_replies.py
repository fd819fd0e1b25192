"""Recipes for the word association test (Bai et al. 2025), from the released replies of GPT-4o.

The numbers of the figures are not printed, so they are recomputed without a comparison. Each reply is scored by the
formula of the released code. The numbers "with the notebook's labels" use the labels of words of the released notebook,
which takes the first half of each list as words of the first group; four lists of the file of synonyms have occupations
at their end, so that the halves are shifted.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tiltmeter.benchmarks.forced_choice.word_lists import compute_published_d, fold_text, read_assignments
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.datasets.readers.iat_stimuli import OTHER_OCCUPATIONS, StimulusTest, read_stimuli
from tiltmeter.errors import DataError
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources.recipe import Key, Numbers, NumberSource, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

REPOSITORY = "baixuechunzi/llm-implicit-bias"
STIMULI, SYNONYMS = "stimuli/iat_stimuli.csv", "stimuli/iat_stimuli_synonym.csv"
_FOLDER = "data/result_gpt4o/"
# The names of tests in the stimuli that differ from those in the names of files.
_TESTS = {"arab": "arab/muslim", "mentalill": "mental illness"}
_REPLY_COLUMNS = ("0", "response")
D, D_OF_NOTEBOOK, REPLIES = "d", "d with the notebook's labels", "replies"
TESTS, CATEGORIES = "stereotypes", "categories"
_NO_RUN = "The model of the paper is behind an API; measure a chat model with --on word-association."


class _Labels(NamedTuple):
    """The words of a test and, for each, whether it belongs to the first group; the names of groups by group."""

    words: dict[str, bool]
    names: dict[str, bool]


def find_source(cell: CellKey, *, from_models: bool) -> NumberSource:
    """Return the source (recipe and key) of the number in a table cell."""
    key: Key = (cell["metric"],)
    if from_models:
        return NumberSource(key, lacking=_NO_RUN)
    path = get_reply_path(cell["stereotype"], cell["variation"])
    return NumberSource(key, Recipe(path, measure_replies, (cell["stereotype"], cell["variation"])))


def get_reply_path(test: str, variation: str) -> str:
    """Return the path of the released replies about a test in one variation of the message.

    >>> get_reply_path("career", "replication")
    'data/result_gpt4o/gpt4o_career_replication.csv'
    """
    return f"{_FOLDER}gpt4o_{test}_{variation}.csv"


def measure_replies(context: RecipeContext, test: str, variation: str) -> Numbers:
    """Return the mean d over the replies about a test, with our labels and with those of the released notebook."""
    stimuli = context.compute_once(read_stimuli, context.fetch_file(REPOSITORY, STIMULI))
    extended = context.compute_once(_read_synonyms, context.fetch_file(REPOSITORY, SYNONYMS))
    path = context.fetch_file(REPOSITORY, get_reply_path(test, variation))
    replies = list(read_replies(path))
    labels = build_labels(stimuli, extended, _TESTS.get(test, test), synonyms=variation == "synonym")
    notebook = labels._replace(words=_list_notebook_labels(extended))
    words = tuple(labels.words)
    return {
        (D,): _compute_mean(replies, words, labels),
        (D_OF_NOTEBOOK,): _compute_mean(replies, words, notebook),
        (REPLIES,): float(len(replies)),
    }


def _read_synonyms(path: Path) -> list[StimulusTest]:
    return read_stimuli(path, synonyms=True)


def _compute_mean(replies: list[str], words: tuple[str, ...], labels: _Labels) -> float:
    values = [_score_reply(reply, words, labels) for reply in replies]
    return sum(values) / len(values)


def _score_reply(reply: str, words: tuple[str, ...], labels: _Labels) -> float:
    names = tuple(labels.names)
    assigned = {
        word: labels.names[names[place]]
        for word, place in read_assignments(reply, words, names).items()
        if place is not None
    }
    return compute_published_d((group, labels.words[word] == group) for word, group in assigned.items())


def read_replies(path: Path) -> Iterator[str]:
    """Yield the replies in a released file, whose column of replies has one of two names."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    column = next((name for name in _REPLY_COLUMNS if name in (reader.fieldnames or ())), None)
    rows = [row[column] for row in reader] if column is not None else []
    if not rows or None in rows:
        raise DataError(f"{path} has no replies in a column {' or '.join(_REPLY_COLUMNS)}; download it again.")
    yield from rows


def build_labels(
    stimuli: list[StimulusTest], with_synonyms: list[StimulusTest], test: str, *, synonyms: bool
) -> _Labels:
    """Return the labels of a test's words and group names: True for the first group of the stimuli.

    The first half of the original list belongs to the first group; each similar word has the label of its word.
    """
    original = next(entry for entry in stimuli if entry.name == test)
    extended = next(entry for entry in with_synonyms if entry.name == test)
    half = len(original.words) / 2
    is_first = {fold_text(word.text): number < half for number, word in enumerate(original.words)}
    words = is_first
    if synonyms:
        words = {
            fold_text(word.synonym): is_first.get(fold_text(word.text), word.synonym in OTHER_OCCUPATIONS)
            for word in extended.words
        }
    names = {fold_text(name): True for name in extended.favoured}
    return _Labels(words, names | {fold_text(name): False for name in extended.other})


def _list_notebook_labels(with_synonyms: list[StimulusTest]) -> dict[str, bool]:
    """Return the labels of the released notebook: True if a word is in the first half of the list of any test."""
    labels: dict[str, bool] = {}
    for test in with_synonyms:
        for number, word in enumerate(test.words):
            is_first = number < len(test.words) // 2
            for text in (word.text, word.synonym):
                labels[fold_text(text)] = is_first or labels.get(fold_text(text), False)
    return labels


def count_tests(context: RecipeContext) -> Numbers:
    """Return the number of stereotypes in the stimuli, and of categories, of which age belongs to health."""
    stimuli = read_stimuli(context.fetch_file(REPOSITORY, STIMULI))
    categories = {"health" if test.category == "age" else test.category for test in stimuli}
    return {(TESTS,): float(len({test.name for test in stimuli})), (CATEGORIES,): float(len(categories))}


COUNTS = Recipe(STIMULI, count_tests)
