"""Properties of all forms, and of each form. The sentences are ours."""

import ast
import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import tiltmeter.forms
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.benchmarks import get_benchmarks
from tiltmeter.datasets import DATASETS, load, load_file
from tiltmeter.datasets.raw_records import build_item
from tiltmeter.datasets.readers.jsonl import format_line
from tiltmeter.errors import UsageError
from tiltmeter.forms import Form, detect_form, get_form, get_forms, get_item_form
from tiltmeter.forms.association import AssociationItem, Candidate
from tiltmeter.forms.gendered_pairs import GenderedPairItem
from tiltmeter.forms.gest import GestItem, compute_sentence_digest
from tiltmeter.forms.pairs import PairItem
from tiltmeter.forms.winobias import WinoBiasItem

INTRA = AssociationItem(
    "a-1",
    "intrasentence",
    "en",
    "profession",
    "nurse",
    "nurses",
    "The nurses were BLANK.",
    (
        Candidate("a-1/unrelated", "unrelated", "The nurses were wooden.", "wooden"),
        Candidate("a-1/stereotype", "stereotype", "The nurses were gentle.", "gentle"),
        Candidate("a-1/anti-stereotype", "anti-stereotype", "The nurses were rough.", "rough"),
    ),
)
INTER = AssociationItem(
    "a-2",
    "intersentence",
    "en",
    "profession",
    "nurse",
    "nurse",
    "The nurse came.",
    (
        Candidate("a-2/stereotype", "stereotype", "She smiled."),
        Candidate("a-2/anti-stereotype", "anti-stereotype", "She frowned at him."),
        Candidate("a-2/unrelated", "unrelated", "Two is even."),
    ),
)
WHOLE = AssociationItem(
    "a-3",
    "intrasentence",
    "pt-BR",
    "profession",
    "nurse",
    "nurse",
    "A enfermeira era BLANK.",
    (
        Candidate("a-3/stereotype", "stereotype", "Era gentil a enfermeira."),
        Candidate("a-3/anti-stereotype", "anti-stereotype", "Era rude a enfermeira."),
        Candidate("other", "unrelated", "Dois é par."),
    ),
    whole=True,
)
PAIR = PairItem("p-1", "en", "gender", "stereo", "My aunt knits.", "My uncle knits.")
GEST = GestItem("g-1", "en", 9, "I repaired the radio.")
FRAMED = GestItem(
    "g-2",
    "de",
    9,
    "Ich habe das Radio repariert",
    original="I repaired the radio.",
    male_frame="„{sentence}“, sagte er.",
    female_frame="„{sentence}“, sagte sie.",
)
GENDERED = GenderedPairItem("s-1", "sk", 4, "Bol som doma.", "Bola som doma.", "I was at home.", "DeepL")
WINOBIAS = WinoBiasItem("w-1", "type1-dev", "en", "gardener", "male", "He lost his hat.", "She lost her hat.")
ITEMS: list[Any] = [INTRA, INTER, WHOLE, PAIR, GEST, FRAMED, GENDERED, WINOBIAS]

MODULES = [f"tiltmeter.forms.{module.name}" for module in pkgutil.iter_modules(tiltmeter.forms.__path__)]


def test_a_form_a_module_and_a_benchmark_have_one_name() -> None:
    only_translated = {"geneval", "winomt"}
    for name in get_forms():
        module = name.replace("-", "_")
        assert importlib.import_module(f"tiltmeter.forms.{module}").FORM is get_forms()[name]
        if name in only_translated:
            continue
        assert importlib.import_module(f"tiltmeter.benchmarks.{module}").BENCHMARK is get_benchmarks()[name]
    assert get_benchmarks().keys() == get_forms().keys() - only_translated


def test_every_data_set_is_of_a_form_and_has_its_parts() -> None:
    for data in DATASETS.values():
        assert set(data.parts) <= set(get_forms()[data.form].parts)
    for name in ("starter", "starter-pairs", "starter-gest"):
        assert {get_item_form(item).name for item in load(name, None, "en")} == {DATASETS[name].form}


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_is_written_with_its_keys_in_order_and_read_back(item: Any, tmp_path: Path) -> None:
    form = get_item_form(item)
    written = form.write(item)
    assert list(written) == [key for key in form.keys if key in written]
    assert detect_form(written) is form
    (tmp_path / "items.jsonl").write_text(format_line(item), encoding="utf-8")
    assert load_file(tmp_path / "items.jsonl") == [item]


@pytest.mark.parametrize("item", ITEMS)
def test_a_line_that_lacks_a_key_is_still_matched_to_its_form(item: Any) -> None:
    form = get_item_form(item)
    for key in form.keys:
        left = [other for other in form.write(item) if other != key]
        if set(left) & set(form.distinctive):
            assert detect_form(left) is form


@pytest.mark.parametrize("item", ITEMS)
def test_translatable_texts_are_in_the_item(item: Any) -> None:
    texts = json.dumps(get_item_form(item).write(item), ensure_ascii=False)
    assert get_item_form(item).translatable(item)
    assert all(text in texts for text in get_item_form(item).translatable(item).values())


def test_translatable_texts() -> None:
    assert get_item_form(INTRA).translatable(INTRA) == {
        "target_term": "nurses",
        "context": "The nurses were BLANK.",
        "candidates[0].word": "wooden",
        "candidates[1].word": "gentle",
        "candidates[2].word": "rough",
    }
    assert get_item_form(INTER).translatable(INTER)["candidates[1].sentence"] == "She frowned at him."
    assert get_item_form(PAIR).translatable(PAIR) == {"more": "My aunt knits.", "less": "My uncle knits."}
    assert get_item_form(GEST).translatable(GEST) == {"sentence": "I repaired the radio."}
    assert get_item_form(GENDERED).translatable(GENDERED) == {"original": "I was at home."}
    assert get_item_form(WINOBIAS).translatable(WINOBIAS) == {"male": "He lost his hat.", "female": "She lost her hat."}


def test_displayed_texts() -> None:
    shown = get_item_form(INTRA).shown(INTRA)
    assert shown.context == "The nurses were BLANK."
    assert shown.texts == {"unrelated": "wooden", "stereotype": "gentle", "anti-stereotype": "rough"}
    assert get_item_form(INTER).shown(INTER).texts["stereotype"] == "She smiled."
    assert (get_item_form(PAIR).shown(PAIR).context, get_item_form(GEST).shown(GEST).texts) == ("", {})
    assert get_item_form(GEST).shown(GEST).context == "I repaired the radio."
    assert get_item_form(GENDERED).shown(GENDERED).context == "I was at home."
    assert get_item_form(WINOBIAS).shown(WINOBIAS).texts["female"] == "She lost her hat."


def test_the_columns_of_the_table_of_scores() -> None:
    same = {"bias_type": "profession", "target": "nurse"}
    words = {"stereotype_word": "gentle", "anti_stereotype_word": "rough"}
    intra = {**same, **words, "length_difference": len("gentle") - len("rough")}
    assert get_item_form(INTRA).attributes(INTRA) == intra
    difference = len("She smiled.") - len("She frowned at him.")
    no_words = dict.fromkeys(words, "")
    assert get_item_form(INTER).attributes(INTER) == {**same, **no_words, "length_difference": difference}
    whole = get_item_form(WHOLE).attributes(WHOLE)
    # Items without a blank have no words; the words in which their sentences differ are what other items share.
    assert (whole["stereotype_word"], whole["anti_stereotype_word"]) == ("gentil", "rude")
    terms = {"more_terms": "aunt", "less_terms": "uncle"}
    assert get_item_form(PAIR).attributes(PAIR) == {"bias_type": "gender", "direction": "stereo", **terms}
    winobias = {"occupation": "gardener", "occupation_gender": "male", "template": ""}
    assert get_item_form(WINOBIAS).attributes(WINOBIAS) == winobias


def test_family_words() -> None:
    gest = {"stereotype": 9, "side": "masculine", "family_words": False, "idea": compute_sentence_digest(GEST.sentence)}
    assert get_item_form(GEST).attributes(GEST) == gest
    read = GestItem("1", "en", 12, "I read to my children.")
    assert get_item_form(read).attributes(read)["family_words"] is True
    # Matched as substrings, as in the paper: not a family word, but one of the paper's 166 sentences.
    kidding = GestItem("1", "en", 8, "I was kidding.")
    assert get_item_form(kidding).attributes(kidding)["family_words"] is True
    known = GenderedPairItem("1", "sk", 12, "a", "b", original="I cooked for my family.", translator="DeepL")
    assert get_item_form(known).attributes(known) == {
        "stereotype": 12,
        "side": "masculine",
        "family_words": True,
        "translator": "DeepL",
        "idea": compute_sentence_digest("I cooked for my family"),
    }
    unknown = GenderedPairItem("1", "sk", 12, "a", "b")
    assert get_item_form(unknown).attributes(unknown)["family_words"] is None


def test_parts() -> None:
    assert get_item_form(INTRA).belongs_to(INTRA, "intrasentence")
    assert not get_item_form(INTRA).belongs_to(INTRA, "intersentence")
    assert get_item_form(GEST).belongs_to(GEST, "template-2")  # every sentence is used in every template
    assert not get_item_form(GEST).belongs_to(GEST, "intrasentence")
    assert not get_item_form(PAIR).belongs_to(PAIR, "all")


def test_names() -> None:
    with raises_mentioning(UsageError, "'triples'", "association"):
        get_form("triples")


def test_a_line_of_no_form_and_a_form_that_fits_better() -> None:
    assert detect_form(["id", "language"]) is None
    # A plug-in's form that shares a key with another form is identified by its other keys.
    question: Form[Any] = Form(
        name="questions",
        item=GestItem,
        keys=("id", "language", "context", "question", "options"),
        distinctive=("question",),
        read=lambda _fields: None,
        write=lambda _item: {},
        texts=lambda _item: (),
        translatable=lambda _item: {},
        attributes=lambda _item: {},
        shown=lambda _item: tiltmeter.forms.ItemText("", {}),
        heading=lambda _item: (),
    )
    assert question.compute_match_score(question.keys) == 5
    assert (get_form("association").compute_match_score(question.keys) or 0) < 0


def test_forms_do_not_import_packages_that_use_them() -> None:
    for path in Path(tiltmeter.forms.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        ours = {name for name in imported if name.startswith("tiltmeter.") and not name.startswith("tiltmeter.forms")}
        assert ours <= {"tiltmeter.errors", "tiltmeter.registry"}, path


def test_display_names_of_texts() -> None:
    roles = [candidate.role for candidate in INTRA.candidates]
    names = get_item_form(INTRA).text_names(INTRA)
    assert [names[f"candidates[{number}].word"] for number in range(3)] == roles
    assert [names[f"candidates.{role}"] for role in roles] == roles  # as findings name them
    assert get_item_form(PAIR).text_names(PAIR)["more"] == "more stereotypical"
    assert get_item_form(GEST).text_names(GEST) == {}


def test_types_of_translatable_texts() -> None:
    types = {field: get_item_form(INTRA).text_kind(field) for field in get_item_form(INTRA).translatable(INTRA)}
    assert types["target_term"] == "term"
    assert types["context"] == "context"
    assert types["candidates[0].word"] == "word"
    assert get_item_form(INTER).text_kind("candidates[1].sentence") == "sentence"
    assert get_item_form(GEST).text_kind("sentence") == "sentence"


@pytest.mark.parametrize(
    ("male", "female", "message"),
    [
        ("„{sentence}“, sagte er.", "", "male_frame and female_frame"),
        ("„“, sagte er.", "„{sentence}“, sagte sie.", "contain {sentence} exactly once"),
        ("Er: {sentence}, sagte er.", "Sie: {sentence}, sagte sie.", "both sides"),
        ("{sentence}, dijo.", "{sentence}, dijo.", "the same"),
        ("{sentence}, va dir.", "{sentence}, va dir ella.", "no word"),
    ],
)
def test_frames_without_a_distinguishing_word_are_rejected(male: str, female: str, message: str) -> None:
    line = {"id": "1", "language": "de", "stereotype": 9, "sentence": "Ich kam.", "male_frame": male}
    item, problems = build_item(line | {"female_frame": female})
    assert item is None
    assert [problem.code for problem in problems] == ["bad-frame"]
    assert_mentions(problems[0].message, message)


def test_an_item_in_another_language_has_no_frames() -> None:
    moved = get_item_form(FRAMED).with_texts(FRAMED, "fr", {"sentence": "J'ai réparé la radio."})
    assert (moved.language, moved.sentence, moved.male_frame) == ("fr", "J'ai réparé la radio.", "")


def test_words_about_family_are_looked_for_in_english_only() -> None:
    kidnapped = GestItem("1", "sv", 3, "Jag såg kidet.")
    assert get_item_form(kidnapped).attributes(kidnapped)["family_words"] is None
    assert get_item_form(FRAMED).attributes(FRAMED)["family_words"] is False


def test_whole_is_true_or_false() -> None:
    line = json.loads(format_line(WHOLE)) | {"whole": "yes"}
    values = get_item_form(WHOLE).from_json(line).values
    assert values is not None
    assert "whole" in {problem.field for problem in build_item(values)[1]}


def test_all_forms_declare_factors() -> None:
    assert {name: sorted(form.factors) for name, form in get_forms().items()} == {
        "association": ["targets", "words"],
        "pairs": ["templates", "terms"],
        "gest": ["ideas"],
        "gendered-pairs": ["ideas"],
        "winobias": ["occupations", "templates"],
        "multiple-choice": ["names", "templates"],
        "winomt": ["nouns", "templates"],
        "geneval": ["words"],
        "word-association": ["names", "words"],
        "story": ["concepts", "settings"],
        "own-prompts": ["templates", "wordings"],
    }
