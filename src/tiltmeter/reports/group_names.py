"""The names of groups of items, as reports show them."""

from functools import cache

from tiltmeter.forms import get_forms
from tiltmeter.measures.records import Record


def get_group_name(attribute: str, group: str) -> str:
    """A group as a report shows it: by the name that a form gives to this value of the attribute, else by the value.

    >>> get_group_name("stereotype", "9"), get_group_name("bias_type", "gender")
    ('9 men are self-assured', 'gender')
    """
    return _index_value_names().get((attribute, group), group)


def get_display_group(record: Record, attribute: str = "") -> str:
    """The group of a record as outputs show it: by the name that the data give it, or that its form does.

    `attribute` is that of which the group is a value, where it is not the view.
    """
    return record.label or get_group_name(attribute or record.view, record.group)


def list_name_columns() -> dict[str, str]:
    """By attribute, the column that holds the names that data give to its values."""
    return {name: column for form in get_forms().values() for name, column in form.name_attributes.items()}


@cache
def _index_value_names() -> dict[tuple[str, str], str]:
    return {
        (attribute, value): name
        for form in get_forms().values()
        for attribute, names in form.value_names.items()
        for value, name in names.items()
    }
