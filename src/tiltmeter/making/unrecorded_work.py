"""Translation work of interrupted steps, which the record of the next completed step includes."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from tiltmeter.making.project_store import ProjectStore

_NAME = "unrecorded translation"


@dataclass(slots=True)
class UnrecordedWork:
    """The translation work of a system since the last completed step. It is saved with each batch of items."""

    system: str = ""
    items: int = 0
    characters: int = 0
    sent: int = 0
    blanks: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def load(cls, store: ProjectStore) -> "UnrecordedWork":
        """Load the work of earlier, interrupted steps that was not recorded."""
        return cls(**json.loads(store.get_remembered().get(_NAME) or "{}"))

    def save(self, store: ProjectStore) -> None:
        """Save the work; call it in the transaction that stores the translations."""
        store.remember({_NAME: json.dumps(asdict(self), ensure_ascii=False)})

    @staticmethod
    def clear(store: ProjectStore) -> None:
        """Delete the saved work; call it in the transaction that stores the record of the step."""
        if store.get_remembered().get(_NAME):
            store.remember({_NAME: ""})

    def facts(self) -> dict[str, Any]:
        """Return the work as facts for the record of a completed step."""
        return {**asdict(self), "seconds": round(self.seconds, 1)}
