"""Check of one architecture: compare the scores of Tiltmeter and of a slow reference implementation on a tiny model."""

import math
import os
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import transformers

import tiltmeter
from perf.architectures.catalogue import AUTO_CLASSES, Architecture
from perf.architectures.items import Record, all_texts, make_items, write_items
from perf.architectures.making import Variant, make_config, make_model, save
from perf.architectures.naive import SCORERS, TEMPLATES, Naive, Scores, score
from perf.made_tokenizers import byte_level, unigram, word_piece
from tiltmeter.errors import TiltmeterError

Verdict = Literal["agrees", "refused", "wrong", "cannot be built"]
# The largest difference between log-probabilities (sums of up to 20 tokens) that can be rounding.
TOLERANCE = 1e-3
# A model that amplifies rounding may differ by this multiple of the error of naive float32 forward passes.
_TIMES_ROUNDING = 5
_VOCABULARY = 1000
# Ways to run: the default, without speed-ups, and in batches of another size.
DEFAULT = ("default",)
WAYS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "--plain": {"plain": True},
    "--batch-tokens 400": {"batch_tokens": 400},
}


@dataclass(frozen=True)
class Material:
    """The material of all architectures: items, their files, and a tokenizer for each kind."""

    items: Mapping[str, Sequence[Record]]
    files: Mapping[str, Path]
    tokenizers: Mapping[str, Any]


@dataclass
class Outcome:
    """The result of one variant of one architecture; `difference` is the largest one, at the score `where`."""

    name: str
    variant: str
    verdict: Verdict
    difference: float = 0.0
    where: str = ""
    reason: str = ""
    seconds: float = 0.0
    scores: int = 0
    notes: list[str] = field(default_factory=list)


class CannotBuild(Exception):  # noqa: N818 - a result, not a fault of the suite
    """transformers cannot create or run the model; the message is the reason."""


def prepare_material(folder: Path, few: int) -> Material:
    """Write items to a folder, `few` short ones of each benchmark, and train tokenizers on their texts."""
    items = make_items(few)
    wordings = [template.format(sentence="", word=word) for template, *words in TEMPLATES.values() for word in words]
    texts = all_texts(items) + 20 * wordings  # so that the words for both genders are one token each
    pieces = word_piece(texts, _VOCABULARY)
    tokenizers = {
        "masked": pieces,
        "next-sentence": pieces,
        "causal": byte_level(texts, _VOCABULARY),
        "seq2seq": unigram(texts, _VOCABULARY),
    }
    return Material(items, write_items(items, folder), tokenizers)


def check(
    architecture: Architecture, variant: Variant, material: Material, ways: Iterable[str] = DEFAULT
) -> Outcome | None:
    """Compare one variant of an architecture; None if the variant does not apply to it."""
    began = time.process_time()
    outcome = Outcome(architecture.name, str(variant), "agrees")
    with _quiet(), tempfile.TemporaryDirectory() as folder:
        try:
            if not _make(architecture, variant, material, Path(folder)):
                return None
            expected = _naive_scores(architecture, Path(folder), material, outcome)
            outcome.scores = sum(map(len, expected.values()))
            for way in ways:
                _compare(outcome, expected, _own_scores(architecture, Path(folder), material, WAYS[way]), way)
            if outcome.difference > TOLERANCE:
                _judge(outcome, expected, _naive_scores(architecture, Path(folder), material, outcome, torch.float32))
        except CannotBuild as error:
            outcome.verdict, outcome.reason = "cannot be built", str(error)
        except TiltmeterError as error:
            outcome.verdict, outcome.reason = "refused", str(error).replace(folder, "the model")
    outcome.seconds = time.process_time() - began
    return outcome


@contextmanager
def _quiet() -> Iterator[None]:
    """Disable warnings of libraries, and seed random numbers."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _make(architecture: Architecture, variant: Variant, material: Material, folder: Path) -> bool:
    """Save the model; False if the variant does not apply to it."""
    tokenizer = material.tokenizers[architecture.kind]
    try:
        config = make_config(architecture, tokenizer, variant)
        if config is None:
            return False
        save(make_model(architecture, config), tokenizer, folder)
    except Exception as error:  # the code of a model may raise any error
        raise CannotBuild(_first_lines(error)) from error
    return True


def _naive_scores(
    architecture: Architecture, folder: Path, material: Material, outcome: Outcome, dtype: torch.dtype = torch.float64
) -> dict[str, Scores]:
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        # The faster implementations of experts do not support float64.
        model = AUTO_CLASSES[architecture.kind].from_pretrained(folder, dtype=dtype, experts_implementation="eager")
        model.eval()
        naive = Naive(model, tokenizer, architecture.kind)
        return {
            part: score(part, architecture.kind, naive, records)
            for part, records in material.items.items()
            if (part, architecture.kind) in SCORERS
        }
    except Exception as error:
        if dtype == torch.float64:
            found = _naive_scores(architecture, folder, material, outcome, torch.float32)
            outcome.notes.append(f"compared with float32, because its code fails in float64: {_first_lines(error)}")
            return found
        raise CannotBuild(f"its forward pass on one text fails: {_first_lines(error)}") from error


def _own_scores(
    architecture: Architecture, folder: Path, material: Material, options: Mapping[str, Any]
) -> dict[str, Scores]:
    """Return the scores of Tiltmeter with an empty cache; probabilities as logarithms."""
    files = [file for part, file in material.files.items() if (part, architecture.kind) in SCORERS]
    with tempfile.TemporaryDirectory() as cache, _environment("TILTMETER_CACHE", cache):
        result = tiltmeter.evaluate(str(folder), files, **options)
    reasons = [str(refused.reason) for refused in result.manifest.refused]
    if reasons:
        raise TiltmeterError(" ".join(dict.fromkeys(reasons)))
    found: dict[str, Scores] = {}
    for row in result.scores.itertuples():
        part = Path(row.benchmark).stem
        number = math.log(row.score) if part.endswith("sentence") and row.score > 0 else float(row.score)
        found.setdefault(part, {})[row.item, row.part if part == "gest" else "", row.role] = number
    return found


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def _compare(outcome: Outcome, expected: dict[str, Scores], actual: dict[str, Scores], way: str) -> None:
    """Store the largest difference in the outcome."""
    for part, scores in expected.items():
        for key, number in scores.items():
            difference = abs(number - actual.get(part, {}).get(key, math.nan))
            if not difference <= outcome.difference:  # NaN is larger than any number
                outcome.difference = math.inf if math.isnan(difference) else difference
                outcome.where = f"{part}, {' '.join(filter(None, key))}, {way}"


def _judge(outcome: Outcome, expected: dict[str, Scores], rounded: dict[str, Scores]) -> None:
    """Mark the difference as wrong unless naive float32 forward passes have a similar error."""
    rounding = Outcome(outcome.name, outcome.variant, "agrees")
    _compare(rounding, expected, rounded, "")
    if math.isinf(rounding.difference):
        outcome.verdict, outcome.reason = "cannot be built", "its numbers are not finite"
    elif outcome.difference > _TIMES_ROUNDING * rounding.difference:
        outcome.verdict = "wrong"
    else:
        outcome.notes.append(f"amplifies rounding: {rounding.difference:.1e} between its float32 and float64")


def _first_lines(error: Exception) -> str:
    """Return the type of an error and the beginning of its message."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message[:200]}"
