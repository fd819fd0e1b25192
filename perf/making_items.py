"""Small source items for projects."""

from pathlib import Path

from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.forms.association import AssociationItem, Candidate
from tiltmeter.forms.blank import fill_blank
from tiltmeter.forms.gest import GestItem

SUBJECTS = ("cook", "gardener", "nurse", "singer")


def blank_item(number: int) -> AssociationItem:
    subject = SUBJECTS[number % len(SUBJECTS)]
    context = f"The {subject} was very BLANK today number{number}."
    words = {"stereotype": "patient", "anti-stereotype": "gruff", "unrelated": "square"}
    candidates = tuple(
        Candidate(f"i{number}/{role}", role, fill_blank(context, word), word)  # type: ignore[arg-type]
        for role, word in words.items()
    )
    return AssociationItem(f"i{number}", "intrasentence", "en", "profession", subject, subject, context, candidates)


def next_item(number: int) -> AssociationItem:
    subject = SUBJECTS[number % len(SUBJECTS)]
    sentences = {"stereotype": "Patient", "anti-stereotype": "Gruff", "unrelated": "Square"}
    candidates = tuple(
        Candidate(f"n{number}/{role}", role, f"{word} is number{number}.")  # type: ignore[arg-type]
        for role, word in sentences.items()
    )
    context = f"The {subject} is in number{number}."
    return AssociationItem(f"n{number}", "intersentence", "en", "profession", subject, subject, context, candidates)


def source_file(path: Path, blanks: int = 4, nexts: int = 2) -> str:
    """Write this number of items of the two parts to a file, and return its path."""
    write_jsonl([*map(blank_item, range(blanks)), *map(next_item, range(nexts))], path)
    return str(path)


def gest_file(path: Path) -> str:
    """Write GEST sentences to a file, and return its path."""
    sentences = ["I was sure.", "I was at home.", "I slept.", "I see a tree."]
    write_jsonl([GestItem(f"g{n}", "en", n + 1, sentence) for n, sentence in enumerate(sentences)], path)
    return str(path)
