"""Readers of EuroGEST: the sentences of GEST in thirty languages, with one or two columns for each language.

`…_insensitive.csv` has sentences that do not show the gender of the speaker. Each sentence is quoted in two frames
(carrier sentences that name a male or a female speaker), with the words of `prompt_scaffolds.csv`: *he said* and *she
said*, or *the man said* and *the woman said* in languages where *he said* does not differ from *she said*.
`…_sensitive.csv` has sentences in the masculine and the feminine form; its header has two rows.

Ids are row numbers; translations of the same sentence have the same id in all languages.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.csv_records import check_row_length, read_header, read_rows, require_columns
from tiltmeter.datasets.readers.decoded_text import find_file_in_same_folder
from tiltmeter.forms.frames import SENTENCE, find_frame_problem

SCAFFOLDS = "prompt_scaffolds.csv"
# Quotation marks as in the script of the authors, with two corrections: the script does not close Portuguese
# quotations, and it opens Lithuanian quotations with the closing mark.
_QUOTATIONS = {
    f'"{SENTENCE}",': "en ca fi it pt",
    f"„{SENTENCE}“,": "bg de lt",
    f'"{SENTENCE},"': "cs da et lv sl sv",
    f"«{SENTENCE}»,": "el",
    f"“{SENTENCE}”,": "es",
    f"« {SENTENCE} »,": "fr",
    f"'{SENTENCE},'": "ga nl",
    f'"{SENTENCE}"': "gl tr",
    f"'{SENTENCE}',": "hr",
    f"„{SENTENCE}” –": "hu pl",
    f"‘{SENTENCE},’": "mt",
    f"«{SENTENCE},»": "no",
    f"„{SENTENCE}”,": "ro",
    f"«{SENTENCE}», —": "ru uk",
    f"„{SENTENCE},“": "sk",
}
_QUOTED = {language: quotation for quotation, languages in _QUOTATIONS.items() for language in languages.split()}
_PRONOUNS, _NOUNS = ("he said", "she said"), ("the man said", "the woman said")
_OUTER = re.compile(r"^[^\w\s]+|[^\w\s]+$")
_STEREOTYPE = re.compile(r"([0-9]{1,2})(\.0)?")


def parse_sentences(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield records of the sentences that do not show the speaker's gender, without final punctuation.

    Each record also contains two frames: carrier sentences that quote the sentence, as said by a man and by a woman.
    """
    male, female = _select_frames(path, language)
    column = "GEST_sentence" if language == "en" else _get_language_name(language)
    rows = read_rows(path)
    header = read_header(rows)
    names = {"sentence": column, "original": "GEST_sentence", "stereotype": "stereotype_number"}
    require_columns(header, names.values())
    for location, values in rows:
        if problems := check_row_length(values, header):
            yield RawRecord(location, None, problems=problems)
        elif text := _OUTER.sub("", values[header.index(column)].strip()).strip():
            record = _build_common_fields(values, header) | {"language": language, "sentence": text}
            original = {} if language == "en" else {"original": values[header.index("GEST_sentence")]}
            yield RawRecord(location, record | original | {"male_frame": male, "female_frame": female}, names)


def parse_pairs(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield records of the pairs of a masculine and a feminine sentence in a language."""
    rows = read_rows(path)
    header, _second_header = read_header(rows), read_header(rows)
    name = _get_language_name(language)
    require_columns(header, ("GEST_sentence", "stereotype_number"))
    columns = [index for index, column in enumerate(header) if column == name]
    if len(columns) != 2:
        raise BrokenFileError("missing-column", f"must have two columns {name}, not {len(columns)}")
    names = {"male": name, "female": name, "original": "GEST_sentence", "stereotype": "stereotype_number"}
    for location, values in rows:
        if problems := check_row_length(values, header):
            yield RawRecord(location, None, problems=problems)
            continue
        male, female = (values[index].strip() for index in columns)
        if male or female:
            record = _build_common_fields(values, header) | {"original": values[header.index("GEST_sentence")]}
            yield RawRecord(location, record | {"language": language, "male": male, "female": female}, names)


def _build_common_fields(values: list[str], header: list[str]) -> dict[str, object]:
    """Return the fields `id` and `stereotype`; an invalid stereotype stays unchanged, so that validation reports it."""
    stereotype = values[header.index("stereotype_number")]
    match = _STEREOTYPE.fullmatch(stereotype)
    return {"id": values[0], "stereotype": int(match[1]) if match else stereotype}


def _select_frames(path: Path, language: str) -> tuple[str, str]:
    """Return the masculine and the feminine frame (carrier sentence) of a language.

    A frame names the speaker by a pronoun, or by a noun if the frames with pronouns have a problem.
    """
    name = _get_language_name(language)
    rows = read_rows(find_file_in_same_folder(path, SCAFFOLDS, "missing-field"))
    header = read_header(rows)
    if language == "en":
        translated = {phrase: phrase for phrase in (*_PRONOUNS, *_NOUNS)}
    else:
        require_columns(header, [name], SCAFFOLDS)
        column = header.index(name)
        translated = {values[0]: values[column].strip() for _, values in rows if len(values) == len(header)}
    for phrases in (_PRONOUNS, _NOUNS):
        if all(translated.get(phrase) for phrase in phrases):
            male, female = (f"{_QUOTED[language]} {translated[phrase]}." for phrase in phrases)
            if find_frame_problem(male, female) is None:
                return male, female
    raise BrokenFileError("bad-frame", f"{SCAFFOLDS} has no words that distinguish men from women in {language}")


def _get_language_name(language: str) -> str:
    if language not in _QUOTED:
        raise BrokenFileError("missing-column", f"has no language {language!r}; it has {', '.join(sorted(_QUOTED))}")
    return get_language_facts(language).name


READS = {"eurogest-sentences": parse_sentences, "eurogest-pairs": parse_pairs}
