"""The declaration of a layout: rows, columns and cells of the tables of a paper, read from a TOML file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.runs.typed_json import from_json
from tiltmeter.text_files import read_toml

_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class RowModels:
    """The models that share a row, such as all monolingual BERT models.

    `names` are patterns of names of models, such as `bert-base-*`; `types` are model types, such as `bert`.
    """

    row: str
    multilingual: bool = False
    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LayoutCell:
    """The numbers of a cell: `fields` of each record with one of `measures`, multiplied by `scale`, in a `pattern`.

    The field `count` is the value multiplied by the number of items.
    The first measure decides which cell is the best.
    """

    heading: str
    measures: tuple[str, ...]
    fields: tuple[str, ...] = ("value",)
    pattern: str = "{}"
    digits: int = 2
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class LayoutTable:
    """One table of a layout: the records that it shows, and the fields that form its rows, columns and blocks.

    `rows` are patterns for the row labels, with names of fields in braces; `multilingual_rows` replaces them for
    multilingual models. `columns` and `order` are names of fields. `best` tells whether the paper prints the best
    number of each column and block in bold.
    """

    number: str
    caption: str
    cells: tuple[LayoutCell, ...]
    columns: tuple[str, ...]
    rows: tuple[str, ...] = ("{model}",)
    multilingual_rows: tuple[str, ...] = ()
    heads: tuple[str, ...] = ("",)
    order: tuple[str, ...] = ()
    blocks: str = ""
    benchmarks: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    part: str = ""
    left_out_parts: tuple[str, ...] = ()
    view: str = "all"
    best: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables of a paper. `labels` maps names of fields to the printed labels of their values."""

    citation: str
    tables: tuple[LayoutTable, ...]
    models: tuple[RowModels, ...] = ()
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def get_label(self, name: str, value: str) -> str:
        """Return the printed label of the value of a field; by default, the value itself."""
        return self.labels.get(name, {}).get(value, value)


def list_layouts() -> list[str]:
    """Return the names of the layouts that are part of Tiltmeter."""
    names = (file.name for file in files(__package__).iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def load_layout(name: str) -> Layout:
    """Return the layout with this name, or the layout in a TOML file if the name ends with `.toml`."""
    if name.endswith(_SUFFIX):
        path = Path(name)
    elif name in list_layouts():
        path = Path(str(files(__package__).joinpath(name + _SUFFIX)))
    else:
        known = list_layouts()
        raise UsageError(
            f"There is no layout {name!r}{suggest_name(name, known)}; choose {', '.join(known)}, or a TOML file."
        )
    return from_json(Layout, read_toml(path), str(path))
