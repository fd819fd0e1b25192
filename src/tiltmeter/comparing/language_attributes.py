"""Attributes by which a comparison of languages groups models and languages."""

from collections.abc import Iterable, Mapping, Sequence

from tiltmeter.comparing.attributes import ModelAttributes, get_language_attributes
from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.size_comparison import parse_parameter_count
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.runs.result import Result

# Whether a model was measured in several languages, in these runs.
MEASURED_IN = "measured in"
# Attributes that do not form groups: sizes are used for a slope, and the others repeat the family of a model.
_NO_GROUPS = ("parameters", "size", "layers", "dtype", "architecture", "model type")

Groups = dict[str, dict[str, str]]


def collect_model_groups(
    runs: Sequence[tuple[str, Result]], cells: Sequence[Cell], attributes: ModelAttributes
) -> Groups:
    """Return a mapping from attribute to the value of each model; the attributes in `attributes` come first."""
    entries = {entry.name: entry for _, result in runs for entry in result.manifest.models}
    groups: Groups = {}
    derived: Groups = {MEASURED_IN: {}, "kind": {}}
    for model in dict.fromkeys(cell.model for cell in cells):
        own = [cell for cell in cells if cell.model == model]
        several = len({cell.language for cell in own}) > 1
        derived[MEASURED_IN][model] = "several languages" if several else "one language"
        if kind := own[0].conditions.kind:
            derived["kind"][model] = kind
        for name, value in attributes.describe_model(model, entries.get(model)).get_attribute_texts().items():
            if name not in _NO_GROUPS and name not in derived:
                groups.setdefault(name, {})[model] = value
    return {**groups, **{name: values for name, values in derived.items() if values}}


def collect_language_groups(languages: Iterable[str]) -> Groups:
    """Return a mapping from attribute (family, script, grammatical gender) to the value of each language."""
    groups: Groups = {}
    for language in languages:
        for name, value in get_language_attributes(language).items():
            if name != "language":
                groups.setdefault(name, {})[language] = value
    return groups


def collect_sizes(
    runs: Sequence[tuple[str, Result]], cells: Sequence[Cell], attributes: ModelAttributes
) -> dict[str, float]:
    """Return the number of parameters of each model that has one."""
    entries = {entry.name: entry for _, result in runs for entry in result.manifest.models}
    models = dict.fromkeys(cell.model for cell in cells)
    counts = {model: parse_parameter_count(attributes.describe_model(model, entries.get(model))) for model in models}
    return {model: count for model, count in counts.items() if count is not None}


def select_attribute(name: str | None, of_models: Groups, of_languages: Groups) -> tuple[Groups, Groups]:
    """Return only the groups of one attribute, of models if they have it, otherwise of languages.

    With None, return all attributes with several values; attributes with equal groups are given once.
    """
    if name is None:
        return _drop_repetitions(of_models), _drop_repetitions(of_languages)
    for groups in (of_models, of_languages):
        values = set(groups.get(name, {}).values())
        if len(values) == 1:
            raise UsageError(f"The only value of {name} is {values.pop()!r}, but groups need two; omit --group {name}.")
    if name in of_models:
        return {name: of_models[name]}, {}
    if name in of_languages:
        return {}, {name: of_languages[name]}
    known = list(dict.fromkeys([*of_models, *of_languages]))
    raise UsageError(
        f"No model or language has the attribute {name!r}{suggest_name(name, known)}; the attributes are "
        f"{', '.join(known) or 'none'} (name a file with attributes of models with --attributes)."
    )


def _drop_repetitions(groups: Mapping[str, dict[str, str]]) -> Groups:
    """Return the attributes with several values, without those that form the same groups as an attribute before."""
    kept: Groups = {}
    partitions = []
    for name, values in groups.items():
        partition = {frozenset(key for key in values if values[key] == value) for value in values.values()}
        if len(partition) > 1 and partition not in partitions:
            kept[name] = values
            partitions.append(partition)
    return kept
