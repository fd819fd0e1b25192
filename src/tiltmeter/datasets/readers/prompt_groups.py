"""Groups for a table of own prompts, from a second table beside it: `prompts.groups.csv` beside `prompts.csv`.

Each column is a group, and the first one is the reference group. Each row has matching wordings of all groups, such as
first names of the same age. A column `language` is needed if the prompts are in several languages.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.datasets.column_mapping import is_table
from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.readers.jsonl import normalise_nfc
from tiltmeter.datasets.readers.spreadsheet import read_spreadsheet

# The form whose tables need a table of groups.
OWN_PROMPTS = "own-prompts"
_LANGUAGE = "language"


@dataclass(frozen=True, slots=True)
class PromptGroups:
    """The names of the groups, and for each language (empty for all languages) the rows of their wordings."""

    names: tuple[str, ...]
    rows: Mapping[str, tuple[tuple[str, ...], ...]]

    def build_items(self, prompt: Mapping[str, object]) -> Iterator[dict[str, object]]:
        """Yield the values of an item for each row of wordings and each group except the reference group.

        >>> groups = PromptGroups(("cooks", "nurses"), {"": (("a cook", "a nurse"),)})
        >>> [item["id"] for item in groups.build_items({"id": "p", "language": "en", "prompt": "Greet {group}."})]
        ['p/1/nurses']
        """
        rows = self.rows.get(str(prompt.get(_LANGUAGE))) or self.rows.get("") or ()
        for number, wordings in enumerate(rows, start=1):
            for name, wording in zip(self.names[1:], wordings[1:], strict=True):
                yield {
                    **prompt,
                    "id": f"{prompt['id']}/{number}/{name}",
                    "template": prompt["id"],
                    "group": name,
                    "wording": wording,
                    "reference": self.names[0],
                    "reference_wording": wordings[0],
                }


def get_groups_path(path: Path) -> Path:
    """Return the path of the table of groups that belongs to a table of prompts.

    >>> get_groups_path(Path("prompts.csv")).name
    'prompts.groups.csv'
    """
    return path.with_name(f"{path.stem}.groups{path.suffix}")


def list_table_files(path: Path, forms: Collection[str]) -> list[Path]:
    """Return the files that contain the items of a user's file: the file, and for prompts also the table of groups.

    `forms` are the forms of the items.
    """
    return [path, get_groups_path(path)] if OWN_PROMPTS in forms and is_table(path) else [path]


def read_prompt_groups(path: Path, language: str | None = None) -> PromptGroups:
    """Read the groups that belong to a table of prompts; raise a BrokenFileError if there are none."""
    groups = get_groups_path(path)
    if not groups.is_file():
        message = (
            f"contains prompts, so it needs a table of groups beside it: write {groups.name} with a column for each "
            "group (the first is the reference group) and matching wordings in each row"
        )
        raise BrokenFileError("missing-groups", message)
    try:
        table = read_spreadsheet(groups, language)
    except BrokenFileError as error:
        raise BrokenFileError(error.problem.code, f"needs {groups.name}, which {error}") from error
    header = [normalise_nfc(name) for name in table.header]
    names = tuple(name for name in header if name.casefold() != _LANGUAGE)
    if len(names) < 2 or not all(names):
        raise BrokenFileError("bad-groups", f"needs {groups.name} with at least two columns, one for each group")
    rows: dict[str, list[tuple[str, ...]]] = {}
    for location, cells in table.rows:
        if any(cell.strip() for cell in cells[len(header) :]):
            message = (
                f"needs {groups.name} with at most {len(header)} cells in {location}, which has {len(cells)}; put "
                "wordings that contain the separator in quotes"
            )
            raise BrokenFileError("bad-groups", message)
        row = dict(zip(header, (normalise_nfc(cell.strip()) for cell in cells), strict=False))
        wordings = tuple(row.get(name, "") for name in names)
        if not all(wordings):
            empty = names[wordings.index("")]
            raise BrokenFileError("bad-groups", f"needs a wording of {empty!r} in {groups.name}, {location}")
        code = next((value for name, value in row.items() if name.casefold() == _LANGUAGE), "")
        rows.setdefault(code, []).append(wordings)
    if not rows:
        raise BrokenFileError("bad-groups", f"needs {groups.name} with at least one row of wordings")
    return PromptGroups(names, {code: tuple(listed) for code, listed in rows.items()})
