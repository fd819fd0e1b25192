"""The labelled test sentences, one file per language."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "sentences"


@dataclass(frozen=True)
class Labelled:
    language: str
    gender: str
    trap: str
    text: str


def labelled(language: str) -> list[Labelled]:
    lines = (FOLDER / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    return [Labelled(language, *line.split("\t")) for line in lines if line and not line.startswith("#")]
