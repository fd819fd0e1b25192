"""The table `tokens.parquet` of a run: the log-probability of each token of the two sentences of a pair."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from tiltmeter.benchmarks.benchmark import Trial
from tiltmeter.questions import Answer, Question, Tokenizer
from tiltmeter.runs.portions import Portion

# One row for each token, in the order of the sentence. `log_prob` is missing if the protocol does not use the token,
# for example in the words in which the sentences differ. `begins` says whether the token begins a word.
TOKENS_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "benchmark", "part", "language", "protocol", "item", "side")),
        ("place", pa.int64()),
        ("token", pa.string()),
        ("log_prob", pa.float64()),
        ("begins", pa.bool_()),
    ]
)

_SPACE = "␣"


class _Token(NamedTuple):
    token: str
    log_prob: float | None
    begins: bool


def build_token_table(
    model: str,
    portion: Portion,
    protocol: str,
    trials: Iterable[Trial],
    answers: Mapping[bytes, Answer],
    text: Tokenizer,
) -> pd.DataFrame:
    """Return a table with the tokens of the sentences; trials without sentence names (`Trial.sides`) are omitted."""
    rows: list[dict[str, Any]] = []
    for trial in trials:
        for side in dict.fromkeys(trial.sides):
            for place, token in enumerate(_list_tokens(trial, side, answers, text)):
                label = {"model": model, **portion.get_key_columns(), "protocol": protocol}
                rows.append({**label, "item": trial.item.id, "side": side, "place": place, **token._asdict()})
    return pd.DataFrame(rows, columns=TOKENS_SCHEMA.names)


def _list_tokens(trial: Trial, side: str, answers: Mapping[bytes, Answer], text: Tokenizer) -> Iterator[_Token]:
    questions = [question for question, of in zip(trial.questions, trial.sides, strict=True) if of == side]
    # Masked models predict a token at its own position, other models at the position before it.
    ahead = 0 if text.kind == "masked" else 1
    found: dict[int, tuple[int, float]] = {}
    for question in questions:
        for (position, token), log_prob in zip(question.wanted, _get_log_probs(question, answers), strict=True):
            found[position + ahead] = (token, log_prob)
    ids = _restore_sentence(questions, found, text.mask if text.kind == "masked" else None)
    first, last = _find_sentence_bounds(ids, found, text)
    before = ""
    for place in range(first, last + 1):
        whole = text.decode(ids[first : place + 1])
        piece = whole[len(before) :] if whole.startswith(before) else text.decode([ids[place]])
        yield _Token(piece.strip() or _SPACE, found[place][1] if place in found else None, _begins_word(before, piece))
        before = whole


def _get_log_probs(question: Question, answers: Mapping[bytes, Answer]) -> list[float]:
    numbers = answers[question.digest]
    # If an answer has two values per requested token, all log-probabilities come first.
    return [float(number) for number in numbers.reshape(-1)[: len(question.wanted)]]


def _restore_sentence(
    questions: Sequence[Question], found: Mapping[int, tuple[int, float]], mask: int | None
) -> list[int]:
    """Return the token ids of the whole input, with each mask replaced by the original token."""
    ids = []
    for place in range(len(questions[0].ids)):
        seen = [question.ids[place] for question in questions if question.ids[place] != mask]
        ids.append(found[place][0] if place in found else seen[0] if seen else questions[0].ids[place])
    return ids


def _find_sentence_bounds(
    ids: Sequence[int], found: Mapping[int, tuple[int, float]], text: Tokenizer
) -> tuple[int, int]:
    """Return the positions of the first and last token of the sentence, without surrounding special tokens."""
    (around,) = text.encode_with_special_tokens([""]) if text.kind == "masked" else (None,)
    if around is None:
        return min(found), max(found)
    special = set(around.ids)
    places = [place for place, token in enumerate(ids) if token not in special]
    return min([*places, *found]), max([*places, *found])


def _begins_word(before: str, piece: str) -> bool:
    """Return whether the token `piece`, after the text `before`, begins a word or is punctuation; False for a space.

    >>> pairs = ("", "gen"), ("gen", "tle"), ("gentle", " cat"), ("cat", "."), ("cat", " ")
    >>> tuple(_begins_word(before, piece) for before, piece in pairs)
    (True, False, True, True, False)
    """
    if not piece.strip():
        return False
    return not before or not before[-1].isalnum() or not piece[:1].isalnum()
