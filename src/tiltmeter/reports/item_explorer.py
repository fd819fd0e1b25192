"""The items of a report with their scores, packed for `templates/explorer.js`.

The page contains the items as JSON, compressed with gzip and encoded in base64. The script unpacks the JSON when the
reader opens the list of items. The JSON is

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

Each word and each text is stored once, in `words` or `texts`. Items contain the index of a word or text, or -1 if it is
missing. An item is

    [id, text, direction, [a word for each entry of `attributes`], scores of model 1, scores of model 2, …]

- `direction` is 1, or -1 if a negative score is stereotypical, as for a GEST sentence about women.
- The scores of a language model are a list with a number for each entry of `roles`, or 0 if the model has no scores.
- The scores of a translation system are [gender, text]: `gender` is 1 for masculine, 0 for feminine and null for no
  gender; `text` is an index in `texts`.
- The scores of a chat model are [shares, answers]. `shares` contains, for each option, the share of the answers that
  choose this option. Each answer is [prompt, reply]: an index in `words` (the prompt and its outcome) and an index in
  `texts` (the reply).
- `unit` says how a model's preference on an item is computed from the scores (`measures.item_contributions.Strength`):
  `ratio` or `difference` of the first two scores, one `signed` number, the `gender` of a translation, or the shares of
  `choices`. `influence` is for measures that are computed from all items together: the last score of an item is its
  leave-one-out influence.
- `sides` are the roles of the texts, such as `stereotype`.
- `tokens` is optional and has an entry for each item. The entry is a list over models. For each model it contains 0
  (no tokens), or for each side a list of [token, log-probability or null, whether the token begins a word].
- `attributes` are the columns that the form of the items adds to the table of scores, except for columns of numbers
  (`Form.numbers`). The script makes a filter for each attribute.
"""

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tiltmeter.benchmarks.forced_choice.choice_scores import SHARE
from tiltmeter.comparing.cells import ITEM_TRANSLATION, list_attribute_columns
from tiltmeter.errors import UsageError
from tiltmeter.forms import ItemText, get_forms, list_hidden_attributes
from tiltmeter.measures import find_module_scale, is_measure_module
from tiltmeter.measures.factors import Labels
from tiltmeter.measures.item_contributions import StrengthUnit
from tiltmeter.measures.measure import ItemScale, find_item_scale, list_quantities
from tiltmeter.reports.display_text import clip_text, format_label
from tiltmeter.reports.group_names import get_group_name, list_name_columns
from tiltmeter.reports.item_texts import DataKey
from tiltmeter.reports.item_tokens import group_tokens, select_tokens
from tiltmeter.reports.language_names import get_language_name

MOST_ITEMS = 60_000  # maximum number of items on a page; items with the weakest preferences are left out first
FEWEST_ITEMS = 100  # limits never reduce the items of a benchmark, part and language below this number
_ITEMS_PER_REPLIES = 8  # an item with replies of chat models needs as much space as this many other items
_LONGEST_REPLY = 400  # maximum number of characters of a displayed reply
_DIGITS = 4  # significant digits of scores

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class _DisplayedScores:
    """The scale by which items are sorted, and which scores the page shows for an item (by role: `stereotype`, …)."""

    scale: ItemScale
    roles: tuple[str, ...]

    @property
    def unit(self) -> StrengthUnit:
        return self.scale.strength.unit


@dataclass(slots=True)
class _ValueIndex:
    """Distinct values, each with an index; indexes are given in the order in which values are added."""

    indexes: dict[Any, int] = field(default_factory=dict)

    def add_value(self, value: Any) -> int:
        return self.indexes.setdefault(value, len(self.indexes))


@dataclass(frozen=True, slots=True)
class Explorer:
    """The packed items of a report.

    `count` is the number of items in `packed`, and `left_out` the number of items that were left out. `messages`
    explain why the items of some benchmarks are not listed.
    """

    packed: str
    count: int
    left_out: int
    messages: tuple[str, ...] = ()


def build_explorer(
    scores: pd.DataFrame,
    texts: Mapping[DataKey, Mapping[str, ItemText]],
    answers: pd.DataFrame | None = None,
    tokens: pd.DataFrame | None = None,
    *,
    modules: Mapping[str, str],
) -> Explorer | None:
    """Return the packed items of a table of scores, or None if there is nothing to display.

    `texts` are the texts of items by id, for each benchmark and language. `answers` are the replies of chat models.
    `tokens` are the log-probabilities of tokens in sentence pairs. `modules` maps each benchmark to its measure module.
    """
    words, sentences = _ValueIndex(), _ValueIndex()
    sets = []
    messages: dict[str, None] = {}
    count = 0
    # `groupby` copies rows, so dropping unused columns first saves memory.
    scores = scores.drop(columns=["candidate", "protocol"], errors="ignore")
    groups: Any = scores.groupby(["benchmark", "part", "language"], sort=False, observed=True) if len(scores) else []
    total = int(groups["item"].nunique().sum()) if len(scores) else 0
    left_out = 0
    for names, rows in groups:
        benchmark, part, language = map(str, names)
        spec = _find_displayed_scores(rows, modules.get(benchmark))
        if spec is None:
            if not list_quantities(rows["role"].unique(), list_attribute_columns(rows)):
                messages[
                    f"The items of {benchmark} are not listed, because no measure defines the contribution of an item."
                ] = None
            continue
        if not rows["score"].notna().any():
            messages[f"The items of {benchmark} are not listed, because none of them has a score."] = None
            continue
        limit = max(FEWEST_ITEMS, round(MOST_ITEMS * rows["item"].nunique() / max(total, MOST_ITEMS)))
        if spec.unit == "choices":
            limit = max(FEWEST_ITEMS, limit // _ITEMS_PER_REPLIES)
        replies = _group_replies(answers, benchmark, part, language)
        set_texts = texts.get((benchmark, language), {})
        sides = _list_text_roles(spec, set_texts.values())
        attributes = _list_filter_attributes(rows)
        try:
            packed, dropped = _pack_items(rows, spec, sides, attributes, set_texts, words, sentences, limit, replies)
        except UsageError as error:
            messages[f"The items of {benchmark} are not listed. {error}"] = None
            continue
        left_out += dropped
        count += len(packed)
        models = list(dict.fromkeys(rows["model"]))
        known = group_tokens(tokens, benchmark, part, language)
        ids = list(words.indexes) if known else []
        token_lists = [select_tokens(known, models, ids[item[0]], sides) for item in packed] if known else []
        sets.append(
            {
                **({"tokens": token_lists} if token_lists else {}),
                "benchmark": benchmark,
                "part": part,
                "language": get_language_name(language),
                "code": language,
                "unit": spec.scale.strength.choose_unit(rows["score"].to_numpy(dtype=float)),
                "roles": [role.removeprefix(SHARE) for role in spec.roles],
                "sides": sides,
                "models": models,
                "attributes": attributes,
                "items": packed,
            }
        )
    if not sets and not messages:
        return None
    content = {"words": list(words.indexes), "texts": list(sentences.indexes), "sets": sets}
    raw = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    packed_text = base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode()
    return Explorer(packed_text, count, left_out, tuple(messages))


def _find_displayed_scores(rows: pd.DataFrame, module: str | None) -> _DisplayedScores | None:
    """Return the scale of the items and the roles of the scores to display, as the measures of `module` define them.

    If `module` is not a known measure module, use the first measure that has a scale for these scores. Return None if
    no measure has a scale for these scores.
    """
    roles, columns = set(rows["role"]), list_attribute_columns(rows)
    if module is not None and is_measure_module(module):
        scale = find_module_scale(module, roles, columns)
    else:
        scale = find_item_scale(roles, columns)
    if scale is None:
        return None
    return _DisplayedScores(
        scale, (*scale.strength.roles, *(role for role in scale.strength.optional if role in roles))
    )


def _list_text_roles(spec: _DisplayedScores, texts: Iterable[ItemText]) -> tuple[str, ...]:
    """Return the roles of the texts to display.

    These are the roles of the scores. If an item has only one score for all its texts, the roles in `texts` are used.
    """
    if spec.unit == "choices":
        # If the texts and the options of an item have different role names, both lists have the same order.
        names = list(dict.fromkeys(role for text in texts for role in text.texts))
        options = [role.removeprefix(SHARE) for role in spec.roles]
        return tuple(options if set(options) <= set(names) else names)
    if len(spec.roles) > 1:
        return spec.roles
    return tuple(dict.fromkeys(role for text in texts for role in text.texts))


def _list_filter_attributes(rows: pd.DataFrame) -> list[str]:
    """Return the item attributes by which a reader can filter: all except numbers and hidden attributes."""
    numbers = {name for form in get_forms().values() for name in form.numbers}
    hidden = {*numbers, *list_hidden_attributes(), *list_name_columns().values(), ITEM_TRANSLATION}
    return [name for name in list_attribute_columns(rows) if name not in hidden]


def _pack_items(
    rows: pd.DataFrame,
    spec: _DisplayedScores,
    sides: Sequence[str],
    attributes: Sequence[str],
    texts: Mapping[str, ItemText],
    words: _ValueIndex,
    sentences: _ValueIndex,
    limit: int,
    replies: Mapping[tuple[str, str], list[tuple[str, str]]],
) -> tuple[list[list[Any]], int]:
    """Pack at most `limit` items of one benchmark, part and language.

    Return the packed items and the number of items that were left out. Words and texts are added to `words` and
    `sentences`. The keys of `replies` are (model, item).
    """
    wanted = rows[rows["role"].isin(spec.roles)]
    table = wanted.pivot_table(index="item", columns=["model", "role"], values="score", aggfunc="first", sort=False)
    models = list(dict.fromkeys(rows["model"]))
    columns = pd.MultiIndex.from_product([models, spec.roles])
    numbers = table.reindex(columns=columns).to_numpy(dtype=float).reshape(len(table), len(models), len(spec.roles))
    # If a benchmark lacks an integer column of another benchmark, pandas stored the column as floats. `convert_dtypes`
    # restores the integers.
    labels = wanted.drop_duplicates("item").set_index("item").reindex(table.index).convert_dtypes()
    label_columns = _extract_label_columns(labels, attributes)
    directions = _compute_directions(labels, spec)
    keep_all = len(table) <= limit
    needs_strengths = spec.unit == "influence" or not keep_all
    strengths = _compute_strengths(numbers, labels, spec) if needs_strengths else np.empty((0, 0))
    kept = np.arange(len(table)) if keep_all else _select_strongest(strengths, limit)
    translations = _index_translations(wanted) if spec.unit == "gender" else {}
    packed: list[list[Any]] = []
    for at in kept.tolist():
        identifier = format_label(str(table.index[at]))
        text = texts.get(identifier)
        text_index = sentences.add_value((text.context, *(text.texts.get(side, "") for side in sides))) if text else -1
        values = [_add_label(name, own[at], words, _get_name(names, at)) for name, own, names in label_columns]
        if spec.unit == "gender":
            model_scores = _pack_translations(translations, models, table.index[at], numbers[at], sentences)
        elif spec.unit == "choices":
            model_scores = [
                [
                    _round_scores(shares),
                    [[words.add_value(prompt), sentences.add_value((reply,))] for prompt, reply in answers],
                ]
                if (answers := replies.get((model, str(table.index[at])), []))
                else 0
                for model, shares in zip(models, numbers[at], strict=True)
            ]
        elif spec.unit == "influence":
            model_scores = [
                [*rounded, float(f"{own:.{_DIGITS}g}")] if isinstance(rounded := _round_scores(scores), list) else 0
                for scores, own in zip(numbers[at], strengths[at], strict=True)
            ]
        else:
            model_scores = [_round_scores(scores) for scores in numbers[at]]
        packed.append([words.add_value(identifier), text_index, int(directions[at]), values, *model_scores])
    return packed, len(table) - len(kept)


def _compute_directions(labels: pd.DataFrame, spec: _DisplayedScores) -> _Array:
    """Return the direction of each item: 1, or -1 if a low score of the item is stereotypical."""
    return spec.scale.quantity.compute_directions(_get_columns(labels, spec), len(labels))


def _get_columns(labels: pd.DataFrame, spec: _DisplayedScores) -> dict[str, Labels]:
    """Return the columns of item attributes that the measure needs, by column name."""
    values, known = spec.scale.quantity.values, list_attribute_columns(labels)
    return {name: labels[name].to_numpy(dtype=object) for name in (*values.columns, values.sides) if name in known}


def _compute_strengths(numbers: _Array, labels: pd.DataFrame, spec: _DisplayedScores) -> _Array:
    """Return an array with the preference for the stereotype: a row for each item and a column for each model.

    The preference is NaN if the model has no scores for the item.
    """
    columns, roles = _get_columns(labels, spec), spec.scale.strength.roles
    strengths = np.full(numbers.shape[:2], np.nan)
    for model in range(numbers.shape[1]):
        scores = numbers[:, model, : len(roles)]
        scored = ~np.isnan(scores).any(axis=1)
        if scored.any():
            by_role = {role: scores[scored, index] for index, role in enumerate(roles)}
            scored_columns = {name: column[scored] for name, column in columns.items()}
            strengths[scored, model] = spec.scale.compute(by_role, scored_columns)
    return strengths


def _group_replies(
    answers: pd.DataFrame | None, benchmark: str, part: str, language: str
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the replies in one benchmark, part and language: {(model, item): [(prompt and outcome, reply), …]}."""
    if answers is None:
        return {}
    here = (answers["benchmark"] == benchmark) & (answers["part"] == part) & (answers["language"] == language)
    replies: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in answers[here].to_dict("records"):
        prompt = f"wording {row['wording']}, {row['order']}: {row['outcome']}"
        replies.setdefault((str(row["model"]), str(row["item"])), []).append(
            (format_label(prompt, 200), clip_text(str(row["reply"]), _LONGEST_REPLY))
        )
    return replies


def _index_translations(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    if ITEM_TRANSLATION not in rows:
        return {}
    keys = zip(rows["model"], rows["item"], strict=True)
    return {key: clip_text(str(text)) for key, text in zip(keys, rows[ITEM_TRANSLATION], strict=True)}


def _pack_translations(
    translations: Mapping[tuple[str, str], str],
    models: Sequence[str],
    item: str,
    numbers: _Array,
    sentences: _ValueIndex,
) -> list[Any]:
    """Return [gender, index of the translation] for each model, or 0 if the model did not translate the item.

    The gender is None if the translation shows no gender.
    """
    return [
        [None if np.isnan(gender) else int(gender), sentences.add_value((translations[model, item],))]
        if (model, item) in translations
        else 0
        for model, gender in zip(models, numbers[:, 0].tolist(), strict=True)
    ]


def _extract_label_columns(labels: pd.DataFrame, attributes: Sequence[str]) -> list[tuple[str, Labels, Labels | None]]:
    """Return each attribute with its values and, if the data set has names for the values, these names."""
    columns = {str(name): labels[name].to_numpy(dtype=object) for name in labels}
    names = list_name_columns()
    return [(name, columns[name], columns.get(names.get(name, ""))) for name in attributes]


def _get_name(names: Labels | None, at: int) -> str:
    return "" if names is None or pd.isna(names[at]) else str(names[at])


def _add_label(attribute: str, value: Any, words: _ValueIndex, own_name: str = "") -> int:
    if pd.isna(value):
        return -1
    if isinstance(value, bool | np.bool_):
        # For a Boolean attribute, its name is shown instead of "True".
        name = attribute.replace("_", " ")
        return words.add_value(format_label(name if value else f"no {name}"))
    return words.add_value(format_label(f"{value} {own_name}" if own_name else get_group_name(attribute, str(value))))


def _select_strongest(strengths: _Array, limit: int) -> _Array:
    """Return the sorted indexes of the `limit` items with the strongest preference of any model."""
    strongest = np.nan_to_num(np.abs(strengths)).max(axis=1)
    return np.sort(np.argsort(-strongest, kind="stable")[:limit])


def _round_scores(values: _Array) -> list[float] | int:
    """Return the scores of an item, rounded to four significant digits; return 0 if any score is missing.

    If different scores would be equal after rounding to four digits, all are rounded to nine digits.
    """
    if np.isnan(values).any():
        return 0
    short = [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]
    return short if len(set(short)) == len(set(values.tolist())) else [float(f"{v:.9g}") for v in values.tolist()]
