"""The translation work of interrupted steps. The record of the next completed step includes this work."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from tiltmeter.making.project_store import ProjectStore

_NAME = "unrecorded translation"


@dataclass(slots=True)
class UnrecordedWork:
    """The translation work of a system since the last completed step, saved in the project with each batch of items.

    `characters` is the number of translated characters, and `sent` is the number of characters that were not cached.
    """

    system: str = ""
    items: int = 0
    characters: int = 0
    sent: int = 0
    blanks: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def load(cls, store: ProjectStore) -> "UnrecordedWork":
        """Return the saved work of interrupted steps; empty if every earlier step was completed."""
        return cls(**json.loads(store.get_stored_values().get(_NAME) or "{}"))

    def save(self, store: ProjectStore) -> None:
        """Save the work in the project; call this method in the transaction that stores the translations."""
        store.store_values({_NAME: json.dumps(asdict(self), ensure_ascii=False)})

    @staticmethod
    def clear(store: ProjectStore) -> None:
        """Delete the saved work; call this method in the transaction that stores the record of the completed step."""
        if store.get_stored_values().get(_NAME):
            store.store_values({_NAME: ""})

    def build_step_facts(self) -> dict[str, Any]:
        """Return the work as facts for the record of a completed step."""
        return {**asdict(self), "seconds": round(self.seconds, 1)}
