"""The items of a report with their scores, packed for the script that shows them.

The packing is for size: names stand once in a list and are referred to by their place in it, and the whole is
compressed. The script undoes it when somebody opens the items, so the page itself opens without that work.
"""

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from tiltmeter.benchmarks import benchmarks
from tiltmeter.forms import ItemText
from tiltmeter.measures.gest import FEMALE, STEREOTYPES
from tiltmeter.measures.gest_mt import ROLE
from tiltmeter.reports.clean import clip, label
from tiltmeter.reports.item_texts import Place
from tiltmeter.reports.languages import language_name

MOST_ITEMS = 60_000  # in all; what leans least is left out first
FEWEST_ITEMS = 100  # of a benchmark, part and language, however many others there are

# As in `benchmarks.asking`, or the gender of a translation: 1 masculine, 0 feminine.
Unit = Literal["ratio", "difference", "signed", "gender"]

_DIGITS = 4
_LABELS = ("bias_type", "target", "stereotype", "occupation", "occupation_gender")


@dataclass(frozen=True, slots=True)
class _Shown:
    """The scores that are shown of an item, and how they are to be read."""

    roles: tuple[str, ...]
    unit: Unit


# Translations are scored by no benchmark's questions: their one score is the speaker's gender.
_TRANSLATIONS = _Shown((ROLE,), "gender")


@dataclass(slots=True)
class _Words:
    """Each word once; the number of a word is its place."""

    places: dict[Any, int] = field(default_factory=dict)

    def place(self, word: Any) -> int:
        return self.places.setdefault(word, len(self.places))


@dataclass(frozen=True, slots=True)
class Explorer:
    """The packed items, how many there are, and how many were left out."""

    packed: str
    shown: int
    left_out: int


def explore(scores: pd.DataFrame, texts: Mapping[Place, Mapping[str, ItemText]]) -> Explorer | None:
    """Pack the items of a table of scores; None if there are none that lean."""
    words, sentences = _Words(), _Words()
    sets = []
    shown = 0
    groups = list(scores.groupby(["benchmark", "part", "language"], sort=False)) if len(scores) else []
    total = sum(rows["item"].nunique() for _, rows in groups)
    left_out = 0
    for names, rows in groups:
        benchmark, part, language = map(str, names)
        spec = _shown(set(rows["role"]))
        if spec is None:
            continue
        most = max(FEWEST_ITEMS, round(MOST_ITEMS * rows["item"].nunique() / max(total, MOST_ITEMS)))
        there = texts.get((benchmark, language), {})
        sides = _sides(spec, there.values())
        packed, dropped = _items(rows, spec, sides, there, words, sentences, most)
        left_out += dropped
        shown += len(packed)
        sets.append(
            {
                "benchmark": benchmark,
                "part": part,
                "language": language_name(language),
                "code": language,
                "unit": _unit(rows, spec),
                "roles": spec.roles,
                "sides": sides,
                "models": list(dict.fromkeys(rows["model"])),
                "items": packed,
            }
        )
    if not sets:
        return None
    content = {"words": list(words.places), "texts": list(sentences.places), "sets": sets}
    raw = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    packed_text = base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode()
    return Explorer(packed_text, shown, left_out)


def _shown(roles: Set[str]) -> _Shown | None:
    """What is shown of items whose scores have these roles, as their benchmark says it."""
    declared = [_Shown(*benchmark.shown) for benchmark in benchmarks().values() if benchmark.shown]
    return next((spec for spec in (*declared, _TRANSLATIONS) if set(spec.roles) <= roles), None)


def _sides(spec: _Shown, texts: Iterable[ItemText]) -> tuple[str, ...]:
    """The roles of the texts that are shown: those of the scores, or, of one score for several texts, of the texts."""
    if len(spec.roles) > 1:
        return spec.roles
    return tuple(dict.fromkeys(role for text in texts for role in text.texts))


def _unit(rows: pd.DataFrame, spec: _Shown) -> Unit:
    # Probabilities are compared by their ratio; scores that can be negative are logarithms already.
    if spec.unit == "ratio" and bool((rows["score"] <= 0).any()):
        return "difference"
    return spec.unit


def _items(
    rows: pd.DataFrame,
    spec: _Shown,
    sides: Sequence[str],
    texts: Mapping[str, ItemText],
    words: _Words,
    sentences: _Words,
    most: int,
) -> tuple[list[list[Any]], int]:
    """The items of one benchmark, part and language: [id, bias type, target, stereotype, text, scores of each model].

    Every entry but the scores is a place in a list, or -1.
    """
    wanted = rows[rows["role"].isin(spec.roles)]
    table = wanted.pivot_table(index="item", columns=["model", "role"], values="score", aggfunc="first", sort=False)
    models = list(dict.fromkeys(rows["model"]))
    columns = pd.MultiIndex.from_product([models, spec.roles])
    numbers = table.reindex(columns=columns).to_numpy(dtype=float).reshape(len(table), len(models), len(spec.roles))
    labels = wanted.drop_duplicates("item").set_index("item").reindex(table.index)
    kept = _strongest(numbers, spec, most)
    columns_of = {name: labels[name].tolist() for name in _LABELS if name in labels}
    translations = _translations(wanted) if spec.unit == "gender" else {}
    packed: list[list[Any]] = []
    for at in kept.tolist():
        identifier = label(str(table.index[at]))
        names = [_word(columns_of.get(name, ()), at, words) for name in ("bias_type", "target")]
        names.append(_stereotype(columns_of, at, words))
        text = texts.get(identifier)
        place = sentences.place((text.context, *(text.texts.get(side, "") for side in sides))) if text else -1
        if spec.unit == "gender":
            shown = _translated(translations, models, table.index[at], numbers[at], sentences)
        else:
            shown = [_rounded(of_model) for of_model in numbers[at]]
        packed.append([words.place(identifier), *names, place, *shown])
    return packed, len(table) - len(kept)


def _translations(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    if "translation" not in rows:
        return {}
    keys = zip(rows["model"], rows["item"], strict=True)
    return {key: clip(str(text)) for key, text in zip(keys, rows["translation"], strict=True)}


def _translated(
    translations: Mapping[tuple[str, str], str],
    models: Sequence[str],
    item: str,
    numbers: "np.ndarray[Any, Any]",
    sentences: _Words,
) -> list[Any]:
    """For each model the gender (None where the translation shows none) and the place of the translation."""
    return [
        [None if np.isnan(gender) else int(gender), sentences.place((translations[model, item],))]
        if (model, item) in translations
        else 0
        for model, gender in zip(models, numbers[:, 0].tolist(), strict=True)
    ]


def _word(column: Sequence[Any], at: int, words: _Words) -> int:
    # A value that is not equal to itself is NaN: the table has the column for another benchmark's sake.
    if not len(column) or column[at] is None or column[at] != column[at]:
        return -1
    return words.place(label(str(column[at])))


def _stereotype(columns: Mapping[str, Sequence[Any]], at: int, words: _Words) -> int:
    """GEST's stereotype or WinoBias's occupation. The script turns the sign of what is about women."""
    if _word(columns.get("stereotype", ()), at, words) >= 0:
        number = int(columns["stereotype"][at])
        return words.place(f"{number} {STEREOTYPES.get(number, 'women' if number in FEMALE else 'men')}")
    if "occupation" in columns:
        side = "women" if columns["occupation_gender"][at] == "female" else "men"
        return words.place(f"{label(str(columns['occupation'][at]))} ({side})")
    return -1


def _strongest(numbers: "np.ndarray[Any, Any]", spec: _Shown, most: int) -> "np.ndarray[Any, Any]":
    """The places of the items to keep, in their order: those with the strongest lean of any model."""
    if len(numbers) <= most:
        return np.arange(len(numbers))
    first = numbers[:, :, 0]
    lean = first if len(spec.roles) == 1 else first - numbers[:, :, 1]
    strength = np.nanmax(np.abs(lean), axis=1)
    return np.sort(np.argsort(-strength, kind="stable")[:most])


def _rounded(values: "np.ndarray[Any, Any]") -> list[float] | int:
    """Four digits of each score, or more where fewer would make two of them look alike; 0 where there are none."""
    if np.isnan(values).any():
        return 0
    short = [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]
    return short if len(set(short)) == len(set(values.tolist())) else [float(f"{v:.9g}") for v in values.tolist()]
