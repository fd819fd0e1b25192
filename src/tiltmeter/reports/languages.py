"""English names of languages."""

from tiltmeter.datasets.language_facts import language


def language_name(code: str) -> str:
    """The English name of a language, or its code if the name is not known.

    >>> language_name("he"), language_name("tlh")
    ('Hebrew', 'tlh')
    """
    return language(code).name
