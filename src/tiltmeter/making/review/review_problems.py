"""The open problems of a project's items, kept in its database, so that a review of thousands of items opens at once.

What was found of an item holds as long as no step of the project was run and nothing about the item was changed; `key`
is what changes with it (`item_keys`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tiltmeter import __version__
from tiltmeter.making.problems import OpenProblem
from tiltmeter.making.store import ProjectStore

Found = Mapping[str, tuple[str, list[OpenProblem]]]


def key_text(key: tuple[object, ...]) -> str:
    """A key as text.

    >>> key_text(("translated", None, 1, "3,4", None))
    '["translated", null, 1, "3,4", null]'
    """
    return json.dumps(key)


def keep_problems(
    store: ProjectStore, keys: Mapping[str, tuple[object, ...]], problems: Mapping[str, Sequence[OpenProblem]]
) -> None:
    """Keep what was found of all items now."""
    found = {item: [key_text(key), list(map(asdict, problems.get(item, ())))] for item, key in keys.items()}
    store.keep_found(store.step_count(), __version__, json.dumps(found, ensure_ascii=False))


def kept_problems(store: ProjectStore) -> Found:
    """What was found of items, with their keys then; empty if a step or another version came since."""
    text = store.kept_found(store.step_count(), __version__)
    found = json.loads(text) if text else {}
    return {
        item: (key, [OpenProblem(**one | {"proposals": tuple(one["proposals"])}) for one in problems])
        for item, (key, problems) in found.items()
    }
