"""The work of translation calls that were killed before they recorded it: the next record counts it as well."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from tiltmeter.making.project_store import ProjectStore

_NAME = "unrecorded translation"


@dataclass(slots=True)
class UnrecordedWork:
    """What a system has translated since the last record of a step.

    It is saved with each batch of items. A call that is killed between sending a batch and saving it loses the number
    of characters sent for that batch; its translations are stored, and not sent again.
    """

    system: str = ""
    items: int = 0
    characters: int = 0
    sent: int = 0
    blanks: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def load(cls, store: ProjectStore) -> "UnrecordedWork":
        """The work that calls before this one did not record."""
        return cls(**json.loads(store.get_remembered().get(_NAME) or "{}"))

    def save(self, store: ProjectStore) -> None:
        """Keep the work; to be called in the transaction that stores it."""
        store.remember({_NAME: json.dumps(asdict(self), ensure_ascii=False)})

    @staticmethod
    def clear(store: ProjectStore) -> None:
        """Forget the work; to be called in the transaction that records it."""
        if store.get_remembered().get(_NAME):
            store.remember({_NAME: ""})

    def facts(self) -> dict[str, Any]:
        """The work as the record of a step states it."""
        return {**asdict(self), "seconds": round(self.seconds, 1)}
