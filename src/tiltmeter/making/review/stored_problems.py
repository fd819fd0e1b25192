"""The cache of a project's open problems in its database, so that a review of thousands of items opens quickly.

The cache is valid until the next step of the project is completed. The cached problems of an item are valid until the
key of the item (see `read_item_keys`) changes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tiltmeter import __version__
from tiltmeter.making.open_problems import OpenProblem
from tiltmeter.making.project_store import ProjectStore


def format_key(key: tuple[object, ...]) -> str:
    """Return the key of an item (see `read_item_keys`) as JSON.

    >>> format_key(("translated", None, 1, "3,4", None))
    '["translated", null, 1, "3,4", null]'
    """
    return json.dumps(key)


def store_problems(
    store: ProjectStore, keys: Mapping[str, tuple[object, ...]], problems: Mapping[str, Sequence[OpenProblem]]
) -> None:
    """Store the current problems and the current key of each item in the cache."""
    found = {item: [format_key(key), list(map(asdict, problems.get(item, ())))] for item, key in keys.items()}
    store.store_found_problems(store.count_steps(), __version__, json.dumps(found, ensure_ascii=False))


def load_problems(store: ProjectStore) -> dict[str, tuple[str, list[OpenProblem]]]:
    """Return the cached key and problems of each item.

    The result is empty if a step was completed, or the version of Tiltmeter changed, after the problems were cached.
    """
    text = store.load_found_problems(store.count_steps(), __version__)
    found = json.loads(text) if text else {}
    return {
        item: (key, [OpenProblem(**one | {"proposals": tuple(one["proposals"])}) for one in problems])
        for item, (key, problems) in found.items()
    }
