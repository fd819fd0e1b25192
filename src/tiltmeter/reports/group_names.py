"""The display names of groups of items, such as a bias type or a stereotype."""

from functools import cache

from tiltmeter.forms import get_forms
from tiltmeter.measures.records import Record


def get_group_name(attribute: str, group: str) -> str:
    """Return the display name of the value `group` of an item attribute; if it has no name, return the value.

    >>> get_group_name("stereotype", "9"), get_group_name("bias_type", "gender")
    ('9 men are self-assured', 'gender')
    """
    return _index_value_names().get((attribute, group), group)


def get_display_group(record: Record, attribute: str = "") -> str:
    """Return the display name of a record's group: the name in the data set, otherwise the name in the item form.

    The group is a value of the item attribute `attribute`; by default, this attribute has the name of the record's
    view.
    """
    return record.label or get_group_name(attribute or record.view, record.group)


def list_name_columns() -> dict[str, str]:
    """Return a dictionary from item attributes to the columns that contain display names of their values."""
    return {name: column for form in get_forms().values() for name, column in form.name_attributes.items()}


@cache
def _index_value_names() -> dict[tuple[str, str], str]:
    return {
        (attribute, value): name
        for form in get_forms().values()
        for attribute, names in form.value_names.items()
        for value, name in names.items()
    }
