"""The words of a Hunspell dictionary, each of which is parsed at its first lookup.

The package spylls parses all entries of a dictionary when it opens the file, which takes several seconds for 200,000
entries. A check looks up a few thousand words, so here opening only finds the stem of each line.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from spylls.hunspell.algo.lookup import Lookup
from spylls.hunspell.data.aff import Aff
from spylls.hunspell.data.dic import Dic, Word
from spylls.hunspell.readers import read_aff, read_dic
from spylls.hunspell.readers.aff import Context
from spylls.hunspell.readers.file_reader import FileReader

# Everything after the stem: flags, or data such as `po:noun`.
_REST = re.compile(r"/|\t|[ \t]\w{2}:")
_COUNT = re.compile(r"\d+(\s|$)")


def open_lookup(path: Path) -> Callable[[str], bool]:
    """Return a function that looks up a word in the dictionary with this `.dic` file and the `.aff` file beside it."""
    aff, context = read_aff(FileReader(str(path.with_suffix(".aff"))))
    reader = FileReader(str(path), encoding=context.encoding)
    # If the dictionary ignores some characters, the stem of an entry may differ from the start of its line.
    words = read_dic(reader, aff=aff, context=context) if context.ignore else LazyWords(reader, aff, context)
    lookup: Callable[[str], bool] = Lookup(aff, words)
    return lookup


class LazyWords(Dic):  # type: ignore[misc]
    """The entries of a `.dic` file by stem; an entry is parsed when its stem is looked up."""

    def __init__(self, lines: Iterator[tuple[int, str]], aff: Aff, context: Context) -> None:
        super().__init__([])
        self._aff = aff
        self._context = context
        self._lines: dict[str, list[str]] = defaultdict(list)
        self._stems: dict[str, list[str]] = defaultdict(list)
        for number, line in lines:
            if number > 1 or not _COUNT.match(line):
                self._add_line(line)

    def _add_line(self, line: str) -> None:
        if "\\" in line or line.startswith("/"):
            stem = self._parse([line])[0].stem
        else:
            found = _REST.search(line)
            stem = line[: found.start()] if found else line
        if stem not in self._lines and not stem.islower():
            for lower in self._aff.casing.lower(stem):
                self._stems[lower].append(stem)
        self._lines[stem].append(line)

    def _parse(self, lines: list[str]) -> list[Word]:
        # The line number is 0, because the reader takes line 1 for the number of entries and not for an entry.
        parsed: list[Word] = read_dic(((0, line) for line in lines), aff=self._aff, context=self._context).words
        return parsed

    def homonyms(self, stem: str, *, ignorecase: bool = False) -> list[Word]:
        """Return the entries with this stem; with `ignorecase`, those whose stem in lower case is `stem`."""
        if ignorecase:
            return [word for one in self._stems.get(stem, ()) for word in self.homonyms(one)]
        if stem not in self.index and stem in self._lines:
            self.index[stem] = self._parse(self._lines.pop(stem))
        found: list[Word] = self.index.get(stem, [])
        return found
