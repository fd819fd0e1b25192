"""The items of a report with their scores, packed for `templates/explorer.js`.

The page holds gzip-compressed JSON in base64; the script unpacks it when the reader opens the items. The JSON is

    {
      "words": ["nurse-1", "gender", "nurse", …],
      "texts": [["context", "text of the first side", …], …],
      "sets": [{
        "benchmark": "stereoset", "part": "intrasentence", "language": "German", "code": "de",
        "unit": "ratio", "roles": ["stereotype", …], "sides": ["stereotype", …], "models": ["gpt2", …],
        "attributes": ["bias_type", "target"],
        "items": [[0, 0, 1, [1, 2], [0.12, 0.08, 0.001], …], …]
      }, …]
    }

`words` and `texts` hold each entry once; items refer to them by index, -1 standing for none. An item is

    [id, text, direction, [a word for each of the set's attributes], scores of the first model, of the second, …]

- `direction` is 1, or -1 where the stereotype is on the negative side of the score, as for a GEST sentence about women.
- The scores of a model are a list with a number for each of `roles`, or 0 where the model did not score the item. Of a
  translation they are [gender, text]: 1 masculine, 0 feminine, null none; and the index of the translation in `texts`.
  Of a chat model they are [shares, answers]: how often it chose each option, and a list of [how it was asked and what
  it chose, reply], an index in `words` and one in `texts`.
- `unit` says how scores become a preference: by the `ratio` of the first two, by their `difference`, by one `signed`
  number, by the `gender` of a translation, or by the shares of `choices`.
- `sides` are the roles of the texts.
- `tokens`, if a set has it, is a list with an entry for each item: by model, 0 or for each side a list of
  [token, log-probability or null, whether it begins a word].
- `attributes` are the columns that the form adds to the table of scores, except its numbers (`Form.numbers`); the
  script makes a filter for each.
"""

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from tiltmeter.benchmarks import get_benchmarks
from tiltmeter.benchmarks.forced_choice.choice_scores import MASCULINE_PREFERENCE, SHARE
from tiltmeter.comparing.cells import ITEM_TRANSLATION, list_attribute_columns
from tiltmeter.forms import ItemText, get_forms
from tiltmeter.measures.gest_mt import ROLE
from tiltmeter.measures.measure import list_quantities
from tiltmeter.reports.display_text import clip, format_label
from tiltmeter.reports.group_names import get_group_name, list_name_columns
from tiltmeter.reports.item_texts import DataKey
from tiltmeter.reports.item_tokens import group_tokens, select_tokens
from tiltmeter.reports.language_names import get_language_name

MOST_ITEMS = 60_000  # in total; the items with the weakest preference are left out first
FEWEST_ITEMS = 100  # of each benchmark, part and language, however many others there are

# As in `benchmarks.benchmark`; or the gender of a translation: 1 masculine, 0 feminine; or the shares of choices.
Unit = Literal["ratio", "difference", "signed", "gender", "choices"]
# The replies to one item take as much room as so many items.
_REPLIES = 8
_LONGEST_REPLY = 400

_DIGITS = 4

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class _ScoreSpec:
    """The scores shown with an item, by role, and their unit."""

    roles: tuple[str, ...]
    unit: Unit


# Translations are not scored by a benchmark's questions: their one score is the gender of the speaker.
_TRANSLATIONS = _ScoreSpec((ROLE,), "gender")
# The roles of a chat model's options, in the order in which they are shown.
_OPTIONS = ("stereotype", "anti-stereotype", "unrelated", "unknown", "masculine", "feminine")


@dataclass(slots=True)
class _ValueIndex:
    """Distinct values in the order in which they were added, each with its index."""

    indexes: dict[Any, int] = field(default_factory=dict)

    def add(self, value: Any) -> int:
        return self.indexes.setdefault(value, len(self.indexes))


@dataclass(frozen=True, slots=True)
class Explorer:
    """The packed items, the number of them, and the number of items left out."""

    packed: str
    shown: int
    left_out: int


def build_explorer(
    scores: pd.DataFrame,
    texts: Mapping[DataKey, Mapping[str, ItemText]],
    answers: pd.DataFrame | None = None,
    tokens: pd.DataFrame | None = None,
) -> Explorer | None:
    """Pack the items of a table of scores; None if none of them has scores that can be shown.

    `answers` are the replies of chat models, `tokens` what models say of each token of sentence pairs.
    """
    words, sentences = _ValueIndex(), _ValueIndex()
    sets = []
    shown = 0
    # Each group is a copy, of the columns that are needed here only.
    scores = scores.drop(columns=["candidate", "protocol"], errors="ignore")
    groups: Any = scores.groupby(["benchmark", "part", "language"], sort=False, observed=True) if len(scores) else []
    total = int(groups["item"].nunique().sum()) if len(scores) else 0
    left_out = 0
    for names, rows in groups:
        benchmark, part, language = map(str, names)
        spec = _find_score_spec(set(rows["role"]))
        if spec is None:
            continue
        limit = max(FEWEST_ITEMS, round(MOST_ITEMS * rows["item"].nunique() / max(total, MOST_ITEMS)))
        if spec.unit == "choices":
            limit = max(FEWEST_ITEMS, limit // _REPLIES)
        replies = _group_replies(answers, benchmark, part, language)
        set_texts = texts.get((benchmark, language), {})
        sides = _list_text_roles(spec, set_texts.values())
        attributes = _list_filter_attributes(rows)
        packed, dropped = _pack_items(rows, spec, sides, attributes, set_texts, words, sentences, limit, replies)
        left_out += dropped
        shown += len(packed)
        models = list(dict.fromkeys(rows["model"]))
        said = group_tokens(tokens, benchmark, part, language)
        listed = list(words.indexes) if said else []
        token_lists = [select_tokens(said, models, listed[item[0]], sides) for item in packed] if said else []
        sets.append(
            {
                **({"tokens": token_lists} if token_lists else {}),
                "benchmark": benchmark,
                "part": part,
                "language": get_language_name(language),
                "code": language,
                "unit": _choose_unit(rows, spec),
                "roles": [role.removeprefix(SHARE) for role in spec.roles],
                "sides": sides,
                "models": models,
                "attributes": attributes,
                "items": packed,
            }
        )
    if not sets:
        return None
    content = {"words": list(words.indexes), "texts": list(sentences.indexes), "sets": sets}
    raw = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    packed_text = base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode()
    return Explorer(packed_text, shown, left_out)


def _find_score_spec(roles: Set[str]) -> _ScoreSpec | None:
    """The scores shown for items with these roles, as declared by their benchmark."""
    if options := tuple(SHARE + role for role in _OPTIONS if SHARE + role in roles):
        return _ScoreSpec(options, "choices")
    declared = [_ScoreSpec(*benchmark.shown) for benchmark in get_benchmarks().values() if benchmark.shown]
    return next((spec for spec in (*declared, _TRANSLATIONS) if set(spec.roles) <= roles), None)


def _list_text_roles(spec: _ScoreSpec, texts: Iterable[ItemText]) -> tuple[str, ...]:
    """The roles of the texts shown: those of the scores, or those of the texts if one score is for several texts."""
    if spec.unit == "choices":
        # The options of a form are in the order of its texts, where these have other names.
        names = list(dict.fromkeys(role for text in texts for role in text.texts))
        options = [role.removeprefix(SHARE) for role in spec.roles]
        return tuple(options if set(options) <= set(names) else names)
    if len(spec.roles) > 1:
        return spec.roles
    return tuple(dict.fromkeys(role for text in texts for role in text.texts))


def _choose_unit(rows: pd.DataFrame, spec: _ScoreSpec) -> Unit:
    # Probabilities are compared by their ratio; scores that can be negative are logarithms already.
    if spec.unit == "ratio" and bool((rows["score"] <= 0).any()):
        return "difference"
    return spec.unit


def _list_filter_attributes(rows: pd.DataFrame) -> list[str]:
    """The attributes to filter items by: those of their form that are not numbers."""
    numbers = {name for form in get_forms().values() for name in form.numbers}
    hidden = {*numbers, *list_name_columns().values(), ITEM_TRANSLATION}
    return [name for name in list_attribute_columns(rows) if name not in hidden]


def _pack_items(
    rows: pd.DataFrame,
    spec: _ScoreSpec,
    sides: Sequence[str],
    attributes: Sequence[str],
    texts: Mapping[str, ItemText],
    words: _ValueIndex,
    sentences: _ValueIndex,
    limit: int,
    replies: Mapping[tuple[str, str], list[tuple[str, str]]],
) -> tuple[list[list[Any]], int]:
    """The packed items of one benchmark, part and language, at most `limit`, and how many were left out."""
    wanted = rows[rows["role"].isin(spec.roles)]
    table = wanted.pivot_table(index="item", columns=["model", "role"], values="score", aggfunc="first", sort=False)
    models = list(dict.fromkeys(rows["model"]))
    columns = pd.MultiIndex.from_product([models, spec.roles])
    numbers = table.reindex(columns=columns).to_numpy(dtype=float).reshape(len(table), len(models), len(spec.roles))
    # Numbers are whole again that became floats because another benchmark's items lack the column.
    labels = wanted.drop_duplicates("item").set_index("item").reindex(table.index).convert_dtypes()
    directions = _compute_directions(labels, spec)
    kept = _select_strongest(numbers, spec, limit)
    translations = _index_translations(wanted) if spec.unit == "gender" else {}
    packed: list[list[Any]] = []
    for at in kept.tolist():
        identifier = format_label(str(table.index[at]))
        text = texts.get(identifier)
        text_index = sentences.add((text.context, *(text.texts.get(side, "") for side in sides))) if text else -1
        values = [
            _add_label(name, labels[name].iat[at], words, _find_value_name(labels, name, at)) for name in attributes
        ]
        if spec.unit == "gender":
            model_scores = _pack_translations(translations, models, table.index[at], numbers[at], sentences)
        elif spec.unit == "choices":
            model_scores = [
                [_round_scores(shares), [[words.add(asked), sentences.add((reply,))] for asked, reply in replied]]
                if (replied := replies.get((model, str(table.index[at])), []))
                else 0
                for model, shares in zip(models, numbers[at], strict=True)
            ]
        else:
            model_scores = [_round_scores(scores) for scores in numbers[at]]
        packed.append([words.add(identifier), text_index, int(directions[at]), values, *model_scores])
    return packed, len(table) - len(kept)


def _compute_directions(labels: pd.DataFrame, spec: _ScoreSpec) -> _Array:
    """For each item 1, or -1 where a low score is the stereotypical one, by the sign of its weight in the measure."""
    columns = list_attribute_columns(labels)
    roles = (*spec.roles, MASCULINE_PREFERENCE) if spec.unit == "choices" else spec.roles
    for quantity in list_quantities(roles, columns):
        if quantity.values.weigh is not None:
            strata = labels[quantity.values.columns[0]].to_numpy(dtype=object)
            side = quantity.values.sides
            sides = labels[side].to_numpy(dtype=object) if side in columns else None
            return np.where(quantity.values.weights(strata, sides) * (quantity.measure.stereotype or 1) < 0, -1, 1)
    return np.ones(len(labels), dtype=int)


def _group_replies(
    answers: pd.DataFrame | None, benchmark: str, part: str, language: str
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """By model and item: how each answer was asked for and what it comes to, and the reply."""
    if answers is None:
        return {}
    here = (answers["benchmark"] == benchmark) & (answers["part"] == part) & (answers["language"] == language)
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in answers[here].to_dict("records"):
        asked = f"wording {row['wording']}, {row['order']}: {row['outcome']}"
        found.setdefault((str(row["model"]), str(row["item"])), []).append(
            (format_label(asked, 200), clip(str(row["reply"]), _LONGEST_REPLY))
        )
    return found


def _index_translations(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    if ITEM_TRANSLATION not in rows:
        return {}
    keys = zip(rows["model"], rows["item"], strict=True)
    return {key: clip(str(text)) for key, text in zip(keys, rows[ITEM_TRANSLATION], strict=True)}


def _pack_translations(
    translations: Mapping[tuple[str, str], str],
    models: Sequence[str],
    item: str,
    numbers: _Array,
    sentences: _ValueIndex,
) -> list[Any]:
    """For each model the gender (None where the translation shows none) and the index of the translation."""
    return [
        [None if np.isnan(gender) else int(gender), sentences.add((translations[model, item],))]
        if (model, item) in translations
        else 0
        for model, gender in zip(models, numbers[:, 0].tolist(), strict=True)
    ]


def _find_value_name(labels: pd.DataFrame, attribute: str, at: int) -> str:
    """The name that the data give to the value of an attribute; empty if they give none."""
    column = list_name_columns().get(attribute, "")
    name: Any = labels[column].iat[at] if column in labels else None
    return "" if pd.isna(name) else str(name)


def _add_label(attribute: str, value: Any, words: _ValueIndex, own_name: str = "") -> int:
    if pd.isna(value):
        return -1
    if isinstance(value, bool | np.bool_):
        # "True" alone would not say what is true.
        name = attribute.replace("_", " ")
        return words.add(format_label(name if value else f"no {name}"))
    return words.add(format_label(f"{value} {own_name}" if own_name else get_group_name(attribute, str(value))))


def _select_strongest(numbers: _Array, spec: _ScoreSpec, limit: int) -> _Array:
    """The indexes of the items to keep, in order: those with the strongest preference of any model."""
    if len(numbers) <= limit:
        return np.arange(len(numbers))
    first = numbers[:, :, 0]
    preference = first if len(spec.roles) == 1 else first - numbers[:, :, 1]
    strength = np.nanmax(np.abs(preference), axis=1)
    return np.sort(np.argsort(-strength, kind="stable")[:limit])


def _round_scores(values: _Array) -> list[float] | int:
    """The scores with four digits, or nine where four would make two of them equal; 0 where a score is missing."""
    if np.isnan(values).any():
        return 0
    short = [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]
    return short if len(set(short)) == len(set(values.tolist())) else [float(f"{v:.9g}") for v in values.tolist()]
