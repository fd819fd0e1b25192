"""The open problems of a project's items, kept in its database, so that a review of thousands of items opens at once.

What was found of an item holds as long as no step of the project was run and nothing about the item was changed; `key`
is what changes with it (`item_keys`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tiltmeter import __version__
from tiltmeter.making.open_problems import OpenProblem
from tiltmeter.making.project_store import ProjectStore

FoundProblems = Mapping[str, tuple[str, list[OpenProblem]]]


def format_key(key: tuple[object, ...]) -> str:
    """A key as text.

    >>> format_key(("translated", None, 1, "3,4", None))
    '["translated", null, 1, "3,4", null]'
    """
    return json.dumps(key)


def store_problems(
    store: ProjectStore, keys: Mapping[str, tuple[object, ...]], problems: Mapping[str, Sequence[OpenProblem]]
) -> None:
    """Keep what was found of all items now."""
    found = {item: [format_key(key), list(map(asdict, problems.get(item, ())))] for item, key in keys.items()}
    store.store_found(store.count_steps(), __version__, json.dumps(found, ensure_ascii=False))


def load_problems(store: ProjectStore) -> FoundProblems:
    """What was found of items, with their keys then; empty if a step or another version came since."""
    text = store.load_found(store.count_steps(), __version__)
    found = json.loads(text) if text else {}
    return {
        item: (key, [OpenProblem(**one | {"proposals": tuple(one["proposals"])}) for one in problems])
        for item, (key, problems) in found.items()
    }
