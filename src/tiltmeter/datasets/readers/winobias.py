"""Reader of WinoBias: sentences with brackets around an occupation and its pronouns.

Line n of one file corresponds to line n of a second file. In `pro_stereotyped_…`, the pronouns have the stereotypical
gender of the occupation; in `anti_stereotyped_…`, they have the opposite gender. The stereotypical gender is therefore
the gender of the pronouns in `pro_stereotyped_…`.

    1 The gardener asked [the florist] what [she] had planted.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.decoded_text import find_file_in_same_folder, read_text
from tiltmeter.forms import Problem

MALE = frozenset({"he", "him", "his", "himself"})
FEMALE = frozenset({"she", "her", "hers", "herself"})

_BAD = "bad-winobias"
_NAME = re.compile(r"pro_stereotyped_(type[12])\.txt\.(dev|test)")
_LINE = re.compile(r"(\d+) (.*\S)\s*")
_BRACKETED = re.compile(r"\[(.*?)\]")
_ARTICLE = re.compile(r"(?:the|an|a) ", re.IGNORECASE)


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `pro_stereotyped_type1.txt.test`, with its `anti_stereotyped_…` file."""
    name = _NAME.fullmatch(path.name)
    if name is None:
        raise BrokenFileError(_BAD, "must have the name of a released file, such as pro_stereotyped_type1.txt.dev")
    other = find_file_in_same_folder(path, path.name.replace("pro_", "anti_", 1), _BAD)
    pro, anti = (list(filter(None, read_text(half).split("\n"))) for half in (path, other))
    if len(pro) != len(anti):
        raise BrokenFileError(_BAD, f"has {len(pro)} lines, but {other.name} has {len(anti)}")
    part = "-".join(name.groups())
    for number, lines in enumerate(zip(pro, anti, strict=True), start=1):
        yield _build_record(lines, f"line {number}", part, language)


def _build_record(lines: tuple[str, str], row: str, part: str, language: str) -> RawRecord:
    matches = [_LINE.fullmatch(line) for line in lines]
    if None in matches or len({match[1] for match in matches if match}) != 1:
        message = "must be a number, the same in both files, and a sentence"
        return RawRecord(row, None, problems=[Problem(_BAD, "", message)])
    number, sentences = lines[0].split()[0], [match[2] for match in matches if match]
    bracketed = _BRACKETED.findall(sentences[0])
    terms = [_ARTICLE.sub("", term) for term in bracketed if term.lower() not in MALE | FEMALE]
    genders = {"male" if term.lower() in MALE else "female" for term in bracketed if term.lower() in MALE | FEMALE}
    if len(terms) != 1 or len(genders) != 1:
        message = "must have brackets around one occupation and around pronouns of one gender"
        return RawRecord(row, None, problems=[Problem(_BAD, "", message)])
    gender = genders.pop()
    plain = [sentence.replace("[", "").replace("]", "") for sentence in sentences]
    male, female = plain if gender == "male" else plain[::-1]
    values: dict[str, object] = {"id": f"{part}/{number}", "part": part, "language": language}
    return RawRecord(row, values | {"occupation": terms[0], "gender": gender, "male": male, "female": female})


READS = {"winobias": parse}
