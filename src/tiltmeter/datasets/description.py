"""The classes `Dataset` and `Source` (one file of a data set)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.datasets.fetch import fetch, is_local
from tiltmeter.datasets.readers import examine_file
from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.datasets.upstream import UpstreamFile
from tiltmeter.datasets.validate import Examination
from tiltmeter.errors import UsageError


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a data set. `part` is None if the file holds all parts, or the data set has none.

    `companions` are other files that the reader needs; they are in the same repository.
    """

    language: str
    part: str | None
    format: str
    file: UpstreamFile | Path
    companions: tuple[UpstreamFile, ...] = ()

    @property
    def files(self) -> tuple[UpstreamFile | Path, ...]:
        """The file, and its companions."""
        return (self.file, *self.companions)

    def paths(self) -> list[Path]:
        """The local paths of the files, which are downloaded if necessary."""
        return [file if isinstance(file, Path) else fetch(file) for file in self.files]

    def is_local(self) -> bool:
        """Whether the files are available without a download."""
        return all(isinstance(file, Path) or is_local(file) for file in self.files)

    def examine(self) -> Examination:
        """Read and validate the file."""
        return examine_file(self.paths()[0], self.format, self.language)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: its files, licence, citation, content warning and known limitations.

    `items` is the number of items in each language, where it is known without reading the files.
    """

    name: str
    form: str
    description: str
    licence: str
    citation: str
    warning: str
    limits: tuple[str, ...]
    sources: tuple[Source, ...]
    parts: tuple[str, ...] = ()
    items: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def files(self) -> tuple[UpstreamFile | Path, ...]:
        """All of its files, each once."""
        return tuple(dict.fromkeys(file for source in self.sources for file in source.files))

    @property
    def size(self) -> int | None:
        """The size of its files in bytes; None if that of a file is not known."""
        sizes = [file.stat().st_size if isinstance(file, Path) else file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of its files."""
        return tuple(dict.fromkeys(source.language for source in self.sources))

    def select(self, part: str | None = None, languages: Iterable[str] = ()) -> tuple[Source, ...]:
        """The files with this part (None: all) in these languages (empty: all); a UsageError if there are none."""
        languages = tuple(languages)
        if part is not None and part not in self.parts:
            known = f"its parts are {', '.join(self.parts)}" if self.parts else "it has no parts"
            raise UsageError(f"{self.name} has no part {part!r}{did_you_mean(part, self.parts)}; {known}.")
        for language in languages:
            if language not in self.languages:
                raise UsageError(f"{self.name} has no language {language!r}; it has {', '.join(self.languages)}.")
        return tuple(
            source
            for source in self.sources
            if (not languages or source.language in languages) and (part is None or source.part in (None, part))
        )
