"""The options of an export."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of an export: the name of the model to export, and the id of the data set on the Hugging Face Hub."""

    model: str | None = None
    dataset_id: str | None = None
