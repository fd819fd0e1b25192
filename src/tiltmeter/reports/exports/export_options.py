"""The options of an export."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of an export: the model, and the hub's id of the data set."""

    model: str | None = None
    dataset_id: str | None = None
