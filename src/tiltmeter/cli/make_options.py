"""Options that several `tiltmeter make` commands have."""

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="PROJECT", help="The folder of the project.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Process at most this many items.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
AcceptCost = Annotated[
    bool, typer.Option("--yes", help="Agree to the cost of a paid translation service, and send it the texts.")
]
TranslatorDevice = Annotated[
    str, typer.Option(help="The device for a local translation model: `auto`, `cpu`, `cuda`, `cuda:1` …")
]
By = Annotated[
    str, typer.Option("--by", metavar="NAME", help="Your name, which is stored in the history of each item.")
]
