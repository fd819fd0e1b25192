"""The names of groups of items, as reports show them."""

from functools import cache

from tiltmeter.forms import forms


def group_name(attribute: str, group: str) -> str:
    """A group as a report shows it: by the name that a form gives to this value of the attribute, else by the value.

    >>> group_name("stereotype", "9"), group_name("bias_type", "gender")
    ('9 men are self-assured', 'gender')
    """
    return _names().get((attribute, group), group)


@cache
def _names() -> dict[tuple[str, str], str]:
    return {
        (attribute, value): name
        for form in forms().values()
        for attribute, names in form.value_names.items()
        for value, name in names.items()
    }
