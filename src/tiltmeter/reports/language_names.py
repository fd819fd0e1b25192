"""English names of languages."""

from tiltmeter.datasets.language_facts import get_language_facts


def get_language_name(code: str) -> str:
    """Return the English name of a language, or its code if the name is unknown.

    >>> get_language_name("he"), get_language_name("xx")
    ('Hebrew', 'xx')
    """
    return get_language_facts(code).name
