"""Word alignment: find the words of a translation that correspond to the words of its source.

The aligner is eflomal (Östling and Tiedemann 2016), which the extra `align` installs. Eflomal has the GPL licence, so
it is run as a separate program. It is trained on the sentences that it aligns.
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
# Minimum number of sentence pairs for reliable alignments, which may change texts automatically. With fewer pairs,
# alignments are used only to propose changes.
ENOUGH_PAIRS = 1000

Links = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text; `start` and `end` are its character positions in the text."""

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
    """The words of a source text and of its translation, and the links between these words.

    A link is a pair of word indices (source, target). `forward` are the links of an alignment from source to target,
    `reverse` are the links of an alignment from target to source.
    """

    source: tuple[Token, ...]
    target: tuple[Token, ...]
    forward: Links = frozenset()
    reverse: Links = frozenset()

    def find_linked_words(self, source: set[int], *, both: bool) -> set[int]:
        """Return the indices of target words that are linked with at least one of the source words.

        If `both`, a link must be in `forward` and in `reverse`; otherwise, one of them is enough.
        """
        links = self.forward & self.reverse if both else self.forward | self.reverse
        return {target for token, target in links if token in source}


@dataclass(frozen=True, slots=True)
class Eflomal:
    """The aligner eflomal; `path` is the path of its program `eflomal-align`."""

    path: Path
    name = "eflomal"

    def align_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[AlignedPair]:
        """Align pairs of source and translation. The aligner is random, so results differ slightly between calls."""
        tokenised = [(tuple(tokenize_words(source)), tuple(tokenize_words(target))) for source, target in pairs]
        usable = [place for place, (source, target) in enumerate(tokenised) if source and target]
        aligned = [AlignedPair(source, target) for source, target in tokenised]
        if not usable:
            return aligned
        links = self._run_program([[_format_line(side) for side in tokenised[place]] for place in usable])
        for place, (forward, reverse) in zip(usable, links, strict=True):
            aligned[place] = AlignedPair(*tokenised[place], forward, reverse)
        return aligned

    def _run_program(self, lines: Sequence[Sequence[str]]) -> list[tuple[Links, Links]]:
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
    """Return the aligner that is installed next to this Python or on the PATH; None if no aligner is installed."""
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
