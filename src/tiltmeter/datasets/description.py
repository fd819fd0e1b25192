"""A data set: files, and what there is to know about them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.datasets.fetch import fetch, is_local
from tiltmeter.datasets.readers import Format, examine_file
from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.datasets.upstream import UpstreamFile
from tiltmeter.datasets.validate import Examination
from tiltmeter.errors import UsageError


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a data set. `part` is None if the file holds all parts, or the data set has none.

    `companion` is the other half of a file that is no use alone: it lies in the same folder, and the reader finds it.
    """

    language: str
    part: str | None
    format: Format
    file: UpstreamFile | Path
    companion: UpstreamFile | None = None

    @property
    def files(self) -> tuple[UpstreamFile | Path, ...]:
        """The file, and the other half if it has one."""
        return (self.file,) if self.companion is None else (self.file, self.companion)

    def paths(self) -> list[Path]:
        """Where the files are on this machine; they are downloaded if they are not here yet."""
        return [file if isinstance(file, Path) else fetch(file) for file in self.files]

    def is_local(self) -> bool:
        """Whether the files can be had without a download."""
        return all(isinstance(file, Path) or is_local(file) for file in self.files)

    def examine(self) -> Examination:
        """The items of the file, and everything found in it."""
        return examine_file(self.paths()[0], self.format, self.language)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: what is in it, on what terms, and what it cannot tell."""

    name: str
    form: str
    description: str
    licence: str
    citation: str
    warning: str
    limits: tuple[str, ...]
    sources: tuple[Source, ...]
    parts: tuple[str, ...] = ()

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages it comes in."""
        return tuple(dict.fromkeys(source.language for source in self.sources))

    def select(self, part: str | None = None, languages: Iterable[str] = ()) -> tuple[Source, ...]:
        """The files that hold a part (None: all parts) in some languages (empty: all); a UsageError if none can."""
        languages = tuple(languages)
        if part is not None and part not in self.parts:
            there = f"its parts are {', '.join(self.parts)}" if self.parts else "it has no parts"
            raise UsageError(f"{self.name} has no part {part!r}{did_you_mean(part, self.parts)}; {there}.")
        for language in languages:
            if language not in self.languages:
                raise UsageError(f"{self.name} has no language {language!r}; it has {', '.join(self.languages)}.")
        return tuple(
            source
            for source in self.sources
            if (not languages or source.language in languages) and (part is None or source.part in (None, part))
        )
