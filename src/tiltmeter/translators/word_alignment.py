"""Word alignment: which words of a translation correspond to which words of its source.

The aligner is eflomal (Östling and Tiedemann 2016), which the extra `align` installs. It is GPL, so it is run as a
separate program. It is trained on the same sentences that it aligns.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import ModelError
from tiltmeter.files import create_temporary_folder
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.forms.word_difference import find_word_spans
from tiltmeter.text_files import split_lines

PROGRAM = "eflomal-align"
# With at least this many sentence pairs, an alignment is reliable enough for automatic changes, not only proposals.
ENOUGH_PAIRS = 1000

Links = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text with its character positions."""

    text: str
    start: int
    end: int


def tokenize_words(text: str) -> list[Token]:
    """Return the words of a text; parts of hyphenated and elided words are separate words.

    >>> [token.text for token in tokenize_words("L'été n'est BLANK-vert.")]
    ['L', 'été', 'n', 'est', 'BLANK', 'vert']
    """
    return [Token(text[start:end], start, end) for start, end in find_word_spans(text)]


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """A source and its translation, with the links (source, target) between their tokens in both directions."""

    source: tuple[Token, ...]
    target: tuple[Token, ...]
    forward: Links = frozenset()
    reverse: Links = frozenset()

    def linked(self, source: set[int], *, both: bool) -> set[int]:
        """Return the target tokens linked with any of the source tokens, in `both` directions or in either one."""
        links = self.forward & self.reverse if both else self.forward | self.reverse
        return {target for token, target in links if token in source}


@dataclass(frozen=True, slots=True)
class Eflomal:
    """The program eflomal-align at `path`."""

    path: Path
    name = "eflomal"

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[AlignedPair]:
        """Align each source with its translation. The training is random, so results differ slightly between runs."""
        tokenised = [(tuple(tokenize_words(source)), tuple(tokenize_words(target))) for source, target in pairs]
        usable = [place for place, (source, target) in enumerate(tokenised) if source and target]
        aligned = [AlignedPair(source, target) for source, target in tokenised]
        if not usable:
            return aligned
        links = self._run([[_format_line(side) for side in tokenised[place]] for place in usable])
        for place, (forward, reverse) in zip(usable, links, strict=True):
            aligned[place] = AlignedPair(*tokenised[place], forward, reverse)
        return aligned

    def _run(self, lines: Sequence[Sequence[str]]) -> list[tuple[Links, Links]]:
        with create_temporary_folder() as folder:
            paths = {letter: folder / letter for letter in "stfr"}
            for letter, side in (("s", 0), ("t", 1)):
                paths[letter].write_text("".join(f"{line[side]}\n" for line in lines), encoding="utf-8")
            options = [argument for letter, path in paths.items() for argument in (f"-{letter}", str(path))]
            try:
                done = subprocess.run([str(self.path), *options], check=False, capture_output=True, text=True)
            except OSError as error:
                raise ModelError(f"The word aligner {self.path} could not be started: {error}.") from error
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1].rstrip(".")
                raise ModelError(f"The word aligner {self.path} failed: {reason}.")
            forward, reverse = (_read_links(paths[letter], len(lines)) for letter in "fr")
        return list(zip(forward, reverse, strict=True))


def find_aligner() -> Eflomal | None:
    """Return the installed aligner, next to this Python or on the PATH; None if there is none."""
    local = Path(sys.executable).parent / PROGRAM
    path = str(local) if local.is_file() else shutil.which(PROGRAM)
    return Eflomal(Path(path)) if path else None


def _format_line(side: Sequence[Token]) -> str:
    return " ".join(BLANK if token.text == BLANK else fold_case(token.text) for token in side)


def _read_links(path: Path, count: int) -> list[Links]:
    lines = split_lines(path.read_text(encoding="utf-8")) if path.is_file() else []
    if len(lines) != count:
        raise ModelError(f"The word aligner wrote {len(lines)} lines for {count} sentence pairs.")
    return [frozenset(_parse_link(link) for link in line.split()) for line in lines]


def _parse_link(text: str) -> tuple[int, int]:
    source, _, target = text.partition("-")
    return int(source), int(target)
