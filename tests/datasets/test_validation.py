"""Every code of a validation finding, with a file that triggers it."""

import json
import pickle
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.readers import jsonl, validate_file
from tiltmeter.datasets.validation import validate_records
from tiltmeter.datasets.validation_findings import Finding, list_error_codes, list_warning_codes
from tiltmeter.errors import DataError
from tiltmeter.forms.gest import STEREOTYPES

INTRA = {
    "id": "a",
    "part": "intrasentence",
    "language": "en",
    "bias_type": "profession",
    "target": "gardener",
    "context": "The gardener was BLANK.",
    "candidates": {"stereotype": "patient", "anti-stereotype": "hasty", "unrelated": "wooden"},
}
INTER = INTRA | {
    "part": "intersentence",
    "context": "The gardener came at noon.",
    "candidates": {"stereotype": "He knew roses.", "anti-stereotype": "He hated roses.", "unrelated": "Two is even."},
}
PAIR = {
    "id": "p",
    "language": "en",
    "bias_type": "gender",
    "direction": "stereo",
    "more": "She knits.",
    "less": "He knits.",
}
GENEVAL = {
    "id": "t",
    "part": "context",
    "language": "es",
    "gender": "feminine",
    "context": "She likes roses.",
    "source": "Kim is a gardener.",
    "correct": "Kim es jardinera.",
    "incorrect": "Kim es jardinero.",
}
WINOMT = {"id": "n", "language": "en", "gender": "male", "entity": "gardener", "position": 1} | {
    "sentence": "The gardener lost his hat."
}
GEST = {"id": "g", "language": "en", "stereotype": 9, "sentence": "I repaired the radio."}
WORD = {"id": "w-1", "language": "en", "bias_type": "age", "test": "tempo", "word": "swift"} | {
    "group": "young",
    "other_group": "old",
}
STORY = {"id": "s-1", "language": "en", "category": "trait", "concept": "tidiness", "side": "feminine"} | {
    "topic": "keeping a desk tidy",
    "setting": "near a lake",
}
PROMPT = {"id": "p-1", "language": "en", "template": "lines", "prompt": "Write two lines about {group}."} | {
    "group": "nurses",
    "wording": "a nurse",
    "reference": "cooks",
    "reference_wording": "a cook",
}
OWN = {"id": "o-1", "language": "en", "stereotype": 17, "side": "masculine", "stereotype_name": "men are punctual"} | {
    "sub_stereotype": "early at work",
    "sentence": "I came before eight.",
}
GENDERED = {"id": "s", "language": "sk", "stereotype": 9, "male": "Bol som doma.", "female": "Bola som doma."}
WINOBIAS = {
    "id": "w",
    "part": "type1-dev",
    "language": "en",
    "occupation": "gardener",
    "gender": "male",
    "male": "The gardener lost his hat.",
    "female": "The gardener lost her hat.",
}
QUESTION = {
    "id": "q",
    "part": "ambiguous",
    "language": "en",
    "bias_type": "age",
    "template": "chess",
    "polarity": "negative",
    "context": "An aunt and her nephew waited for the bus.",
    "question": "Who was bad at chess?",
    "stereotype": "The aunt",
    "anti-stereotype": "The nephew",
    "unknown": "Not known",
    "correct": "unknown",
}


def candidates(**changes: object) -> dict[str, object]:
    roles = {"stereotype": "patient", "anti-stereotype": "hasty", "unrelated": "wooden"}
    return INTRA | {"candidates": roles | {role.replace("_", "-"): value for role, value in changes.items()}}


def without(item: dict[str, object], key: str) -> dict[str, object]:
    return {name: value for name, value in item.items() if name != key}


LINES: list[tuple[str, str, list[object]]] = [
    ("unknown-polarity", "polarity", [QUESTION | {"polarity": "both"}]),
    ("wrong-answer", "correct", [QUESTION | {"correct": "stereotype"}]),
    ("wrong-answer", "correct", [QUESTION | {"part": "disambiguated"}]),
    ("empty-text", "anti-stereotype", [QUESTION | {"anti-stereotype": " "}]),
    ("same-answers", "", [QUESTION | {"anti-stereotype": "the aunt"}]),
    ("duplicate-question", "question", [QUESTION, QUESTION | {"id": "r"}]),
    ("duplicate-word", "word", [WORD, WORD | {"id": "w-2"}]),
    ("same-groups", "other_group", [WORD | {"other_group": "Young "}]),
    ("duplicate-topic", "topic", [STORY, STORY | {"id": "s-2"}]),
    ("bad-side", "side", [STORY | {"side": "none"}]),
    ("no-slot", "prompt", [PROMPT | {"prompt": "Write two lines."}]),
    ("bad-pattern", "matches", [PROMPT | {"matches": "("}]),
    ("bad-options", "options", [PROMPT | {"options": "yes"}]),
    ("bad-options", "options", [PROMPT | {"options": "yes|no", "matches": "yes"}]),
    ("bad-gender", "gender", [PROMPT | {"gender": "no"}]),
    ("duplicate-prompt", "prompt", [PROMPT, PROMPT | {"id": "p-2"}]),
    ("same-wordings", "reference_wording", [PROMPT | {"reference_wording": "a nurse"}]),
    ("side-differs", "side", [STORY, STORY | {"id": "s-2", "side": "masculine", "setting": "by the sea"}]),
    # code, field, items; the last one has the finding
    ("bad-encoding", "context", [INTRA | {"context": "The gardener was \ud800 BLANK."}]),
    ("bad-json", "", ['{"id": "a",']),
    ("bad-json", "", ["[1, 2]"]),
    ("bad-json", "", ["[" * 100_000]),
    ("bad-json", "", ['{"id": ' + "9" * 5000 + "}"]),
    ("bad-language", "language", [INTRA | {"language": "English"}]),
    ("bad-frame", "female_frame", [GEST | {"male_frame": "He said: {sentence}"}]),
    ("bad-frame", "male_frame", [GEST | {"female_frame": "She said: {sentence}"}]),
    ("bad-frame", "female_frame", [GEST | {"male_frame": "He said:", "female_frame": "She said: {sentence}"}]),
    ("bad-frame", "female_frame", [GEST | dict.fromkeys(("male_frame", "female_frame"), "They said: {sentence}")]),
    ("bad-stereotype", "stereotype", [GEST | {"stereotype": 0}]),
    ("bad-stereotype", "stereotype", [GEST | {"stereotype": 17}]),
    ("bad-stereotype", "stereotype", [GEST | {"stereotype": "9"}]),
    ("bad-stereotype", "stereotype", [GEST | {"stereotype": True}]),
    ("bad-stereotype", "side", [GEST | {"side": "feminine"}]),
    ("bad-stereotype", "side", [OWN | {"side": "neuter"}]),
    ("bad-stereotype", "stereotype", [OWN | {"stereotype": 10**30}]),
    ("bad-stereotype", "stereotype_name", [GEST | {"stereotype_name": "men are punctual"}]),
    ("stereotype-differs", "side", [OWN, OWN | {"id": "o-2", "sentence": "I left early.", "side": "feminine"}]),
    ("stereotype-differs", "stereotype_name", [OWN, without(OWN, "stereotype_name") | {"id": "o-2", "sentence": "x"}]),
    ("bad-stereotype", "stereotype", [without(GEST, "stereotype")]),
    ("bad-stereotype", "stereotype", [without(GENDERED, "stereotype")]),
    (
        "duplicate-candidate-id",
        "candidates.unrelated.id",
        [candidates(stereotype={"id": "x", "word": "calm"}, unrelated={"id": "x", "word": "iron"})],
    ),
    ("duplicate-id", "id", [GEST, GEST | {"sentence": "I painted the door."}]),
    ("duplicate-key", "id", ['{"id": "g", "id": "h", "language": "en", "stereotype": 9, "sentence": "I sang."}']),
    ("empty-text", "context", [INTRA | {"context": " "}]),
    ("empty-text", "candidates.stereotype", [candidates(stereotype="")]),
    ("empty-text", "candidates.stereotype.sentence", [candidates(stereotype={"sentence": "\t"})]),
    ("empty-text", "more", [PAIR | {"more": ""}]),
    ("empty-text", "female", [GENDERED | {"female": ""}]),
    ("missing-field", "target", [without(INTRA, "target")]),
    ("missing-field", "candidates", [without(INTRA, "candidates")]),
    ("missing-field", "language", [without(GEST, "language")]),
    ("missing-field", "female", [without(GENDERED, "female")]),
    ("missing-field", "gender", [without(WINOBIAS, "gender")]),
    ("missing-field", "candidates.stereotype.word", [candidates(stereotype={"id": "x"})]),
    ("missing-role", "candidates", [INTRA | {"candidates": {"stereotype": "calm", "unrelated": "wooden"}}]),
    ("mixed-forms", "", [GEST, PAIR]),
    ("no-blank", "context", [INTRA | {"context": "The gardener was calm."}]),
    ("unknown-direction", "direction", [PAIR | {"direction": "left"}]),
    ("unknown-form", "", [{"id": "a", "language": "en"}]),
    ("unknown-gender", "gender", [WINOBIAS | {"gender": "none"}]),
    ("unknown-part", "part", [INTRA | {"part": "intra"}]),
    ("unknown-part", "part", [WINOBIAS | {"part": "dev"}]),
    ("unknown-role", "candidates.related", [candidates(related="calm")]),
    ("word-not-found", "candidates.stereotype.sentence", [candidates(stereotype={"sentence": "So what."})]),
    ("wrong-type", "id", [GEST | {"id": 7}]),
    ("wrong-type", "original", [GENDERED | {"original": None}]),
    ("wrong-type", "candidates", [INTRA | {"candidates": "calm"}]),
    ("wrong-type", "candidates", [INTRA | {"candidates": 3}]),
    ("wrong-type", "candidates", [INTRA | {"candidates": ["calm", "hasty", "wooden"]}]),
    ("wrong-type", "candidates.stereotype", [candidates(stereotype=None)]),
    ("attached-blank", "context", [INTRA | {"context": "The gardener was un-BLANK."}]),
    ("attached-blank", "context", [INTRA | {"context": "The gardener was BLANKly."}]),
    ("attached-blank", "context", [INTRA | {"context": "The gardener's BLANK'ler."}]),
    ("blank-in-sentence", "context", [INTER | {"context": "The BLANK gardener came at noon."}]),
    (
        "blank-in-sentence",
        "candidates.unrelated",
        [INTER | {"candidates": INTER["candidates"] | {"unrelated": "BLANK is even."}}],
    ),
    ("control-character", "sentence", [GEST | {"sentence": "I repaired the\u200bradio."}]),
    ("duplicate-context", "context", [INTRA, INTRA | {"id": "b"}]),
    ("duplicate-source", "source", [GENEVAL, GENEVAL | {"id": "u"}]),
    ("no-context", "context", [{key: value for key, value in GENEVAL.items() if key != "context"}]),
    ("no-wrong-words", "incorrect", [GENEVAL | {"incorrect": "Kim, es."}]),
    ("unknown-source-gender", "gender", [GENEVAL | {"gender": "female"}]),
    ("unknown-entity-gender", "gender", [WINOMT | {"gender": "feminine"}]),
    ("unknown-casting", "stereotypical", [WINOMT | {"stereotypical": "yes"}]),
    ("entity-elsewhere", "position", [WINOMT | {"position": 2}]),
    ("entity-elsewhere", "position", [WINOMT | {"position": -4}]),
    ("wrong-type", "position", [WINOMT | {"position": "1"}]),
    ("repeated-sentence", "sentence", [WINOMT, WINOMT | {"id": "m"}]),
    ("duplicate-pair", "more", [PAIR, PAIR | {"id": "q"}]),
    ("duplicate-pair", "male", [GENDERED, GENDERED | {"id": "t"}]),
    ("duplicate-sentence", "sentence", [GEST, GEST | {"id": "h", "stereotype": 10}]),
    ("identical-candidates", "candidates.anti-stereotype", [candidates(stereotype="calm", anti_stereotype="calm")]),
    (
        "identical-candidates",
        "candidates.unrelated",
        [INTER | {"candidates": INTER["candidates"] | {"unrelated": "He knew roses."}}],
    ),
    ("identical-pair", "less", [PAIR | {"less": PAIR["more"]}]),
    ("invisible-difference", "less", [PAIR | {"less": f"{PAIR['more']} "}]),
    ("invisible-difference", "female", [WINOBIAS | {"female": WINOBIAS["male"].replace(" ", "  ")}]),
    ("decomposed", "sentence", [GEST | {"sentence": "I repaired the cafe\u0301 radio."}]),
    ("identical-pair", "female", [WINOBIAS | {"female": WINOBIAS["male"]}]),
    ("nothing-shared", "less", [PAIR | {"less": "He paints!"}]),
    ("odd-space", "sentence", [GEST | {"sentence": "I repaired  the radio."}]),
    ("odd-space", "sentence", [GEST | {"sentence": "I repaired the\u00a0radio."}]),
    ("outer-space", "sentence", [GEST | {"sentence": "I repaired the radio. "}]),
    (
        "sentence-case",
        "candidates.stereotype.sentence",
        [candidates(stereotype={"sentence": "The Gardener was calm.", "word": "calm"})],
    ),
    (
        "sentence-differs",
        "candidates.stereotype.sentence",
        [candidates(stereotype={"sentence": "The gardener is calm.", "word": "calm"})],
    ),
    ("several-blanks", "context", [INTRA | {"context": "The gardener was BLANK and BLANK."}]),
    ("target-not-in-context", "context", [INTRA | {"target_term": "baker"}]),
    (
        "wide-difference",
        "less",
        [PAIR | {"more": "My old aunt is knitting a long scarf.", "less": "My two uncles knit a long scarf."}],
    ),
    ("wide-difference", "less", [PAIR | {"more": "She often knits.", "less": "He rarely knits."}]),
    ("wide-difference", "less", [PAIR | {"language": "zh", "more": "她织", "less": "他们织"}]),
    ("unknown-field", "lang", [INTRA | {"lang": "en"}]),
    ("unknown-field", "system", [GENDERED | {"system": "x"}]),
    ("unknown-field", "candidates.stereotype.wrod", [candidates(stereotype={"word": "calm", "wrod": "calm"})]),
    (
        "unknown-field",
        "candidates.unrelated.word",
        [INTER | {"candidates": INTER["candidates"] | {"unrelated": {"sentence": "Two is even.", "word": "even"}}}],
    ),
]

FILES: list[tuple[str, str, bytes]] = [
    ("bad-encoding", "jsonl", "{}\n".encode("utf-16")),
    ("bad-encoding", "gest-csv", "sentence,stereotype\nIch käme,1\n".encode("latin-1")),
    ("bad-csv", "gest-csv", b"sentence,stereotype\nI sang,1,2\n"),
    ("bad-csv", "gest-csv", b'sentence,stereotype\n"I sang,1\n'),
    ("bad-json", "stereoset-json", b"{"),
    ("bad-json", "stereoset-json", b"[]"),
    ("bad-json", "stereoset-json", b'{"data": {"intrasentence": ["x"]}}'),
    ("bad-pickle", "stereoset-pickle", b""),
    ("bad-pickle", "stereoset-pickle", pickle.dumps({"a": 1})),
    ("bad-pickle", "stereoset-pickle", pickle.dumps(Path("x"))),
    (
        "duplicate-role",
        "stereoset-json",
        json.dumps(
            {
                "data": {
                    "intersentence": [
                        {
                            "id": "a",
                            "target": "gardener",
                            "bias_type": "profession",
                            "context": "The gardener came.",
                            "sentences": [
                                {"id": str(n), "sentence": f"He sang {n} songs.", "gold_label": role}
                                for n, role in enumerate(("stereotype", "stereotype", "unrelated", "anti-stereotype"))
                            ],
                        }
                    ]
                }
            }
        ).encode(),
    ),
    ("bad-controls", "crows-controls", b"a,b\n"),
    ("bad-geneval", "geneval", b"She is a gardener.\n"),
    ("bad-stimuli", "iat-stimuli", b"category,dataset,A,B,C\nage,tempo,young,,swift\n"),
    ("bad-winomt", "winomt", b"male\tThe gardener sang.\n"),
    ("bad-winobias", "winobias", b"1 [The gardener] lost [his] hat.\n"),
    ("missing-column", "gest-csv", b"sentence\nI sang\n"),
    ("missing-column", "gest-pairs-csv", b"language,original,stereotype,male\n"),
    ("missing-column", "crows-csv", b""),
    ("no-items", "jsonl", b"\n\n"),
    ("no-items", "gest-csv", b"sentence,stereotype\n"),
]


def examine_lines(path: Path, lines: list[object]) -> list[Finding]:
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return validate_records(str(path), jsonl.parse(path)).findings


# The code of `data validate --against`, which tests/making/quality tests.
WITH_SOURCE = {"untranslated"}
# Errors that test_own_prompts.py tests.
IN_TABLES_OF_PROMPTS = {"bad-groups", "missing-groups"}
# Warnings that test_crows_editions.py and test_multiple_choice_files.py test.
IN_EDITIONS = {"bad-bias-type", "direction-differs", "half-pair", "contradictory-roles", "unclear-stereotype"}


def test_there_is_a_case_for_every_code() -> None:
    assert {case[0] for case in (*LINES, *FILES)} | IN_EDITIONS | WITH_SOURCE | IN_TABLES_OF_PROMPTS == {
        *list_error_codes(),
        *list_warning_codes(),
    }
    assert not list_error_codes().keys() & list_warning_codes().keys()


@pytest.mark.parametrize(
    "items",
    [
        [INTRA],
        [INTER],
        [INTRA, INTER | {"id": "b"}],
        [PAIR],
        [GEST],
        [GENDERED],
        [WINOBIAS],
        [WINOMT],
        [OWN],
        [QUESTION],
        [WORD],
        [STORY],
        [PROMPT],
    ],
)
def test_nothing_is_found_in_good_items(items: list[object], tmp_path: Path) -> None:
    assert examine_lines(tmp_path / "items.jsonl", items) == []


@pytest.mark.parametrize(("code", "field", "items"), LINES)
def test_findings_in_a_line(code: str, field: str, items: list[object], tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    findings = examine_lines(path, items)
    match = next(finding for finding in findings if finding.code == code)
    assert match.severity == ("error" if code in list_error_codes() else "warning")
    assert (match.file, match.row, match.field) == (str(path), f"line {len(items)}", field)
    assert match.message
    # Each mistake gives exactly one error.
    assert {finding.code for finding in findings if finding.severity == "error"} <= {code}


@pytest.mark.parametrize(("code", "format", "content"), FILES)
def test_findings_in_a_file(code: str, format: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    examination = validate_file(path, format, "en")
    assert [finding.code for finding in examination.errors] == [code]
    with raises_mentioning(DataError, str(path)):
        examination.require_valid_items()


def test_errors_name_file_row_field_and_how_many_more_there_are(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(json.dumps(GEST | {"id": str(n), "sentence": ""}) for n in range(3)), encoding="utf-8")
    with raises_mentioning(DataError, f"{path}, line 1, sentence: ", "3 errors", "`tiltmeter data validate`"):
        validate_file(path, "jsonl", "en").require_valid_items()


def test_warnings_do_not_stop_reading(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(INTRA | {"context": "The gardener was BLANK and BLANK."}), encoding="utf-8")
    [item] = validate_file(path, "jsonl", "en").require_valid_items()
    assert item.candidates[0].sentence == "The gardener was patient and patient."


def test_items_around_a_bad_one_are_kept_for_the_report(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join([json.dumps(GEST), "{", json.dumps(GEST | {"id": "h"})]), encoding="utf-8")
    examination = validate_file(path, "jsonl", "en")
    assert [item.id for item in examination.items] == ["g", "h"]
    assert len(examination.errors) == 1


def test_the_same_id_in_two_languages_is_how_items_are_paired(tmp_path: Path) -> None:
    german = GEST | {"language": "de", "sentence": "Ich habe das Radio repariert."}
    assert examine_lines(tmp_path / "items.jsonl", [GEST, german]) == []


def test_joiners_are_spelling_in_some_languages(tmp_path: Path) -> None:
    assert examine_lines(tmp_path / "i.jsonl", [GEST | {"language": "fa", "sentence": "می\u200cروم"}]) == []


def test_long_names_are_no_wide_difference_where_words_have_no_spaces(tmp_path: Path) -> None:
    thai = PAIR | {"language": "th", "more": "สมชายชอบถักผ้าพันคอให้ลูก", "less": "สมศรีชอบถักผ้าพันคอให้ลูก"}
    assert examine_lines(tmp_path / "i.jsonl", [thai]) == []


def test_there_are_sixteen_stereotypes() -> None:
    assert list(STEREOTYPES) == list(range(1, 17))


def test_the_documentation_names_every_code() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "reference", "file-formats.md").read_text(encoding="utf-8")
    for code, meaning in (list_error_codes() | list_warning_codes()).items():
        assert f"| `{code}` | {meaning} |" in page
