import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.readers.jsonl import format_line, parse, read_jsonl, write_jsonl
from tiltmeter.datasets.validation import validate_records
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import Item, get_form
from tiltmeter.forms.association import PARTS, ROLES, AssociationItem, Candidate
from tiltmeter.forms.blank import fill_blank
from tiltmeter.forms.gest import GestItem
from tiltmeter.forms.pairs import PairItem

LINE = {
    "id": "nurse-1",
    "part": "intrasentence",
    "language": "en",
    "bias_type": "profession",
    "target": "nurse",
    "context": "The nurse was BLANK.",
    "candidates": {"stereotype": "gentle", "anti-stereotype": "gruff", "unrelated": "wooden"},
}


def read(path: Path, *lines: object) -> list[Item]:
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return read_jsonl(path)


def test_the_short_form(tmp_path: Path) -> None:
    [item] = read(tmp_path / "items.jsonl", LINE)
    assert item == AssociationItem(
        id="nurse-1",
        part="intrasentence",
        language="en",
        bias_type="profession",
        target="nurse",
        target_term="nurse",
        context="The nurse was BLANK.",
        candidates=(
            Candidate("nurse-1/stereotype", "stereotype", "The nurse was gentle.", "gentle"),
            Candidate("nurse-1/anti-stereotype", "anti-stereotype", "The nurse was gruff.", "gruff"),
            Candidate("nurse-1/unrelated", "unrelated", "The nurse was wooden.", "wooden"),
        ),
    )


def test_a_string_between_sentences_is_the_sentence(tmp_path: Path) -> None:
    sentences = {"stereotype": "She smiled.", "anti-stereotype": "She frowned.", "unrelated": "Two is even."}
    line = LINE | {"part": "intersentence", "context": "A nurse came.", "candidates": sentences}
    [item] = read(tmp_path / "items.jsonl", line)
    assert item.candidates[0] == Candidate("nurse-1/stereotype", "stereotype", "She smiled.", "")


@pytest.mark.parametrize(
    ("value", "id_", "sentence"),
    [
        ({"word": "kind"}, "nurse-1/stereotype", "The nurse was kind."),
        ({"sentence": "The nurse was kind."}, "nurse-1/stereotype", "The nurse was kind."),
        ({"id": "x", "sentence": "Kind she was.", "word": "kind"}, "x", "Kind she was."),
    ],
)
def test_the_long_form(value: dict[str, str], id_: str, sentence: str, tmp_path: Path) -> None:
    [item] = read(tmp_path / "items.jsonl", LINE | {"candidates": LINE["candidates"] | {"stereotype": value}})
    assert item.candidates[0] == Candidate(id_, "stereotype", sentence, "kind")


def test_the_target_term_is_the_language_s_own(tmp_path: Path) -> None:
    [item] = read(tmp_path / "items.jsonl", LINE | {"target_term": "nurses"})
    assert (item.target, item.target_term) == ("nurse", "nurses")


def test_pairs_and_gest(tmp_path: Path) -> None:
    pair = {"id": "1", "language": "de", "bias_type": "gender", "direction": "stereo", "more": "Sie.", "less": "Er."}
    gest = {"id": "2", "language": "de", "stereotype": 3, "sentence": "Ich singe."}
    assert read(tmp_path / "pairs.jsonl", pair) == [PairItem("1", "de", "gender", "stereo", "Sie.", "Er.")]
    assert read(tmp_path / "gest.jsonl", gest) == [GestItem("2", "de", 3, "Ich singe.")]


def test_a_language_for_lines_that_name_none(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"id": "2", "stereotype": 3, "sentence": "Ich singe."}', encoding="utf-8")
    assert [item.language for item in read_jsonl(path, "de")] == ["de"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_byte_order_mark_line_endings_and_empty_lines(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    line = format_line(GestItem("2", "de", 3, "Ich hörte zu."))
    path.write_bytes(("\ufeff" + ending.join(["", line, "", ""])).encode())
    assert read_jsonl(path) == [GestItem("2", "de", 3, "Ich hörte zu.")]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with raises_mentioning(DataError, "nowhere.jsonl", "No such file"):
        read_jsonl(tmp_path / "nowhere.jsonl")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with raises_mentioning(UsageError, str(tmp_path / "file")):
        write_jsonl([], tmp_path / "file" / "out.jsonl")


def test_nothing_is_written_if_the_items_end_in_an_error(tmp_path: Path) -> None:
    def items():
        yield GestItem("1", "en", 1, "I sang.")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_jsonl(items(), tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_the_short_form_is_written_where_it_says_all(tmp_path: Path) -> None:
    [item] = read(tmp_path / "items.jsonl", LINE)
    assert json.loads(format_line(item)) == LINE


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
    str.strip
)
languages = st.from_regex("[a-z]{2,3}(-[A-Z]{2})?", fullmatch=True)
stories = st.builds("{} BLANK{}".format, texts, texts)


@st.composite
def associations(draw: st.DrawFn) -> AssociationItem:
    part = draw(st.sampled_from(PARTS))
    id_, context, target = draw(texts), draw(stories), draw(texts)

    def candidate(role):
        own = draw(st.booleans())
        word = draw(texts) if part == "intrasentence" else ""
        sentence = fill_blank(context, word) if word and draw(st.booleans()) else draw(texts)
        return Candidate(f"{id_}/{role}" if own else f"{draw(texts)}:{role}", role, sentence, word)

    candidates = tuple(candidate(role) for role in draw(st.permutations(ROLES)))
    term = draw(st.one_of(st.just(target), texts))
    return AssociationItem(id_, part, draw(languages), draw(texts), target, term, context, candidates)


directions = st.sampled_from(["stereo", "antistereo"])
pairs = st.builds(PairItem, texts, languages, texts, directions, texts, texts)
gests = st.builds(GestItem, texts, languages, st.integers(1, 16), texts)


def lists_of(items: st.SearchStrategy[Item]) -> st.SearchStrategy[list[Item]]:
    return st.lists(items, min_size=1, max_size=4, unique_by=lambda item: item.id)


def has_own_candidate_ids(items: list[Item]) -> bool:
    ids = [candidate.id for item in items for candidate in getattr(item, "candidates", ())]
    return len(ids) == len(set(ids))


def is_composed(items: list[Item]) -> bool:
    return all(unicodedata.is_normalized("NFC", format_line(item)) for item in items)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.one_of(lists_of(associations()), lists_of(pairs), lists_of(gests))
    .filter(has_own_candidate_ids)
    .filter(is_composed)
)
def test_what_is_written_is_read_back(tmp_path: Path, items: list[Item]) -> None:
    path = tmp_path / "items.jsonl"
    write_jsonl(items, path)
    assert read_jsonl(path) == items


def test_own_texts_are_read_in_nfc_with_a_notice(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    line = {"id": "1", "language": "fr", "bias_type": "age", "more": "Zoe\u0308 lit.", "less": "Chloe\u0301 lit."}
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    (item,) = read_jsonl(path)
    assert isinstance(item, PairItem)
    assert (item.more, item.less) == ("Zo\u00eb lit.", "Chlo\u00e9 lit.")
    found = validate_records(str(path), parse(path)).findings
    assert [(finding.code, finding.field, finding.severity) for finding in found] == [
        ("decomposed", "more", "warning"),
        ("decomposed", "less", "warning"),
    ]


def test_pairs_may_name_their_template(tmp_path: Path) -> None:
    line = {"language": "en", "bias_type": "gender", "direction": "stereo"}
    made = {"id": "1", **line, "more": "My aunt knits.", "less": "My uncle knits.", "template": "My PERSON knits."}
    plain = {"id": "2", **line, "more": "Her aunt sews.", "less": "Her uncle sews."}
    items = read(tmp_path / "pairs.jsonl", made, plain)
    assert [item.template for item in items if isinstance(item, PairItem)] == ["My PERSON knits.", ""]
    assert [json.loads(format_line(item)) for item in items] == [made, plain]
    columns = [get_form("pairs").attributes(item) for item in items]
    assert [columns[0]["template"], "template" in columns[1]] == ["My PERSON knits.", False]
