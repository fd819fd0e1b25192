import itertools
import shlex
import stat
import sys
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.translators import word_alignment
from tiltmeter.translators.word_alignment import PROGRAM, Eflomal, find_aligner, tokenize_words

# A program with eflomal's options: word n of the source is linked with word n of the target.
DIAGONAL = """
for s, t in zip(lines["-s"], lines["-t"]):
    links.append(" ".join(f"{n}-{n}" for n in range(min(len(s.split()), len(t.split())))))
"""


def program(folder: Path, body: str, name: str = PROGRAM) -> Path:
    path = folder / name
    path.write_text(
        # A shebang line cannot contain the path of Python if it has spaces.
        f"#!/bin/sh\n'''exec' {shlex.quote(sys.executable)} \"$0\" \"$@\"\n' '''\n"
        "import sys\nfrom pathlib import Path\n"
        "options = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n"
        "lines = {o: Path(options[o]).read_text(encoding='utf-8').splitlines() for o in ('-s', '-t')}\n"
        f"links = []\n{body}\n"
        "for o in ('-f', '-r'):\n    Path(options[o]).write_text(''.join(f'{link}\\n' for link in links))\n",
        encoding="utf-8",
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_links_are_of_words(tmp_path: Path) -> None:
    aligner = Eflomal(program(tmp_path, DIAGONAL))
    first, second = aligner.align_pairs([("The cook, sang!", "Der Koch sang."), ("A BLANK-cat", "Eine BLANK Katze")])
    assert [token.text for token in first.target] == ["Der", "Koch", "sang"]
    assert first.forward == first.reverse == {(0, 0), (1, 1), (2, 2)}
    assert second.find_linked_words({1}, both=True) == {1}
    assert second.target[1].text == "BLANK"


def test_texts_are_sent_without_case_but_the_blank(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    body = DIAGONAL + f"Path({str(seen)!r}).write_text(repr(lines['-t']), encoding='utf-8')"
    Eflomal(program(tmp_path, body)).align_pairs([("The BLANK", "DER GROẞE İL BLANK")])
    assert seen.read_text(encoding="utf-8") == repr(["der grosse il BLANK"])


def test_texts_without_words_have_no_links(tmp_path: Path) -> None:
    pairs = [("?", "Was?"), ("Who", "Wer"), ("", "")]
    aligned = Eflomal(program(tmp_path, DIAGONAL)).align_pairs(pairs)
    assert [sorted(pair.forward) for pair in aligned] == [[], [(0, 0)], []]


def test_one_direction_or_both() -> None:
    source, target = tuple(tokenize_words("one two")), tuple(tokenize_words("eins zwei"))
    pair = word_alignment.AlignedPair(source, target, frozenset({(0, 0), (0, 1)}), frozenset({(0, 0)}))
    assert pair.find_linked_words({0}, both=True) == {0}
    assert pair.find_linked_words({0}, both=False) == {0, 1}
    assert pair.find_linked_words({1}, both=False) == set()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit('out of memory.')", "failed: out of memory."),
        ("sys.exit(3)", "failed: exit code 3."),
        ("pass", "0 lines for 1"),
    ],
)
def test_a_failing_program_is_an_error(tmp_path: Path, body: str, message: str) -> None:
    with raises_mentioning(ModelError, message):
        Eflomal(program(tmp_path, body)).align_pairs([("one", "eins")])


def test_a_missing_program_is_an_error(tmp_path: Path) -> None:
    with raises_mentioning(ModelError, "could not be started"):
        Eflomal(tmp_path / "gone").align_pairs([("one", "eins")])


def test_the_program_is_found_next_to_python_and_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    next_to_python, on_path = tmp_path / "next", tmp_path / "path"
    next_to_python.mkdir()
    on_path.mkdir()
    monkeypatch.setattr(sys, "executable", str(next_to_python / "python"))
    monkeypatch.setenv("PATH", str(on_path))
    assert find_aligner() is None
    elsewhere = program(on_path, DIAGONAL)
    assert find_aligner() == Eflomal(elsewhere)
    here = program(next_to_python, DIAGONAL)
    assert find_aligner() == Eflomal(here)


def test_eflomal_finds_words_of_made_sentences() -> None:
    aligner = find_aligner()
    if aligner is None:
        pytest.skip("eflomal is not installed: pip install 'tiltmeter[align]'")
    nouns = {"cook": "Koch", "gardener": "Gärtner", "sailor": "Matrose", "painter": "Maler", "smith": "Schmied"}
    verbs = {"sang": "sang", "slept": "schlief", "danced": "tanzte", "laughed": "lachte"}
    times = {"today": "heute", "yesterday": "gestern", "often": "oft", "early": "früh"}
    choices = list(itertools.product(nouns, verbs, times))
    pairs = [
        (f"{time} the {noun} {verb}", f"{times[time]} {verbs[verb]} der {nouns[noun]}") for noun, verb, time in choices
    ]
    aligned = aligner.align_pairs(pairs)
    found = [
        {pair.target[place].text for place in pair.find_linked_words({2}, both=True)} == {nouns[noun]}
        for (noun, _, _), pair in zip(choices, aligned, strict=True)
    ]
    assert sum(found) >= 0.9 * len(found)
