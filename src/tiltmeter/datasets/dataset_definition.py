"""The classes `Dataset` and `Source` (one file of a data set)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tiltmeter.datasets.local_files import is_local
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.datasets.upstream_files import UpstreamFile
from tiltmeter.errors import UsageError

if TYPE_CHECKING:
    from tiltmeter.datasets.validation import ValidationResult


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a data set. `part` is None if the file contains all parts or the data set has no parts.

    `format` is the name of the file format, which selects the reader. `companions` are other files of the repository
    that the reader also needs. `dataset` is the name of the data set; the class `Dataset` sets it.
    """

    language: str
    part: str | None
    format: str
    file: UpstreamFile | Path
    companions: tuple[UpstreamFile, ...] = ()
    dataset: str = field(default="", compare=False)

    @property
    def files(self) -> tuple[UpstreamFile | Path, ...]:
        """The data file, and the other files of the repository that its reader needs."""
        return (self.file, *self.companions)

    def fetch_files(self) -> list[Path]:
        """Return the local paths of the files; download them if necessary."""
        # Imported here, because listing data sets does not need the download code.
        from tiltmeter.datasets.file_fetcher import fetch_file

        return [file if isinstance(file, Path) else fetch_file(file, dataset=self.dataset) for file in self.files]

    def is_local(self) -> bool:
        """Return whether the files are available without a download."""
        return all(isinstance(file, Path) or is_local(file) for file in self.files)

    def validate(self) -> "ValidationResult":
        """Read and validate the file; return its items and findings."""
        from tiltmeter.datasets.readers import validate_file

        return validate_file(self.fetch_files()[0], self.format, self.language)

    def load(self) -> "ValidationResult":
        """Read and validate the file; return its items and findings.

        Raise a DataError if the file has errors, unless it is an upstream file, which users cannot correct.
        """
        result = self.validate()
        if not isinstance(self.file, UpstreamFile):
            result.require_valid_items()
        return result


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: its files, licence, citation, content warning and known limitations.

    `items` maps languages to numbers of items, if these are known without reading the files. `control` has the names of
    the control data sets of this data set. A control has items of the same form, but a preference in it is not a
    preference for the stereotypes. `why_control` is set for a control data set: a clause that says why it is a control.
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
    control: tuple[str, ...] = ()
    why_control: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(replace(source, dataset=self.name) for source in self.sources))

    @property
    def files(self) -> tuple[UpstreamFile | Path, ...]:
        """All files of the data set, without duplicates."""
        return tuple(dict.fromkeys(file for source in self.sources for file in source.files))

    @property
    def local_source_count(self) -> int:
        """The number of files (objects of `Source`) that are available without a download."""
        return sum(source.is_local() for source in self.sources)

    @property
    def item_count(self) -> int | None:
        """The number of items in all languages; None if it is not known without reading the files."""
        counts = [self.items.get(language) for language in self.languages]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def size(self) -> int | None:
        """The size of all files in bytes; None if the size of a file is not known."""
        sizes = [file.stat().st_size if isinstance(file, Path) else file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def languages(self) -> tuple[str, ...]:
        """The language codes of the files, without duplicates."""
        return tuple(dict.fromkeys(source.language for source in self.sources))

    @property
    def has_stated_licence(self) -> bool:
        """Whether a licence is stated for all files."""
        return all(isinstance(file, Path) or file.licence_stated for file in self.files)

    @property
    def may_be_exported(self) -> bool:
        """Whether texts of the data set may be written to other files: its licence is stated, and no file is gated."""
        return self.has_stated_licence and not any(isinstance(file, UpstreamFile) and file.gated for file in self.files)

    def select(self, part: str | None = None, languages: Iterable[str] = ()) -> tuple[Source, ...]:
        """Return the files of a part in these languages; raise an error if the part or a language is unknown.

        None selects all parts, and empty `languages` selects all languages.
        """
        languages = tuple(languages)
        if part is not None and part not in self.parts:
            known = f"its parts are {', '.join(self.parts)}" if self.parts else "it has no parts"
            raise UsageError(f"{self.name} has no part {part!r}{suggest_name(part, self.parts)}; {known}.")
        for language in languages:
            if language not in self.languages:
                raise UsageError(f"{self.name} has no language {language!r}; it has {', '.join(self.languages)}.")
        return tuple(
            source
            for source in self.sources
            if (not languages or source.language in languages) and (part is None or source.part in (None, part))
        )
