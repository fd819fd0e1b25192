"""The names of groups of items, as reports show them."""

from tiltmeter.measures.gest import STEREOTYPES


def group_name(attribute: str, group: str) -> str:
    """A group as a report shows it: a GEST stereotype by number and content, any other by its own name.

    >>> group_name("stereotype", "9"), group_name("bias_type", "gender")
    ('9 men are self-assured', 'gender')
    """
    if attribute == "stereotype" and group.isdigit():
        return f"{group} {STEREOTYPES.get(int(group), '')}".strip()
    return group
