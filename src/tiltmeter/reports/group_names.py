"""The display names of groups of items, such as a bias type or a stereotype."""

from functools import cache

from tiltmeter.forms import get_forms
from tiltmeter.measures.records import Record


def get_group_name(attribute: str, group: str) -> str:
    """Return the name that a form gives to the value `group` of an attribute; if it has no name, return the value.

    >>> get_group_name("stereotype", "9"), get_group_name("bias_type", "gender")
    ('9 men are self-assured', 'gender')
    """
    return _index_value_names().get((attribute, group), group)


def get_display_group(record: Record, attribute: str = "") -> str:
    """Return the display name of a record's group: the name in the data set, otherwise the name in the form.

    The group is a value of `attribute`; by default, the attribute has the same name as the record's view.
    """
    return record.label or get_group_name(attribute or record.view, record.group)


def list_name_columns() -> dict[str, str]:
    """Return a mapping of attributes to columns; the column contains the names of the attribute's values."""
    return {name: column for form in get_forms().values() for name, column in form.name_attributes.items()}


@cache
def _index_value_names() -> dict[tuple[str, str], str]:
    return {
        (attribute, value): name
        for form in get_forms().values()
        for attribute, names in form.value_names.items()
        for value, name in names.items()
    }
