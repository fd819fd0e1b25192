from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets import DATASETS, load, load_file, load_spec, parse_spec
from tiltmeter.datasets.dataset_loader import get_dataset, validate_spec
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.datasets.upstream_files import UpstreamFile
from tiltmeter.errors import UsageError
from tiltmeter.forms import Item
from tiltmeter.forms.association import AssociationItem
from tiltmeter.forms.gest import GestItem
from tiltmeter.forms.pairs import PairItem

# Data sets that users rely on, with the languages they must have at least.
LANGUAGES = {
    "starter": {"en", "de", "fr", "es", "tr"},
    "starter-pairs": {"en", "de"},
    "starter-gest": {"en"},
    "stereoset": {"en", "de", "fr", "es", "tr"},
    "stereoset-original": {"en"},
    "gender-pairs": {"ar", "de", "en", "fi", "fr", "id", "ko", "th", "vi", "zh"},
    "crows-pairs": {"en"},
    "gest": {"en"},
    "gest-1.0": {"en"},
    "gest-pairs": {"be", "cs", "hr", "pl", "ru", "sk", "sl", "sr", "uk"},
    "winobias": {"en"},
}


def test_the_documented_data_sets_and_languages_are_there() -> None:
    for name, languages in LANGUAGES.items():
        assert languages <= set(DATASETS[name].languages)


def test_every_data_set_is_described() -> None:
    for name, data in DATASETS.items():
        assert data.name == name
        assert all((data.description, data.licence, data.citation, data.warning, data.limits))


def test_every_language_and_part_has_one_file_or_one_for_each_category() -> None:
    # MT-GenEval has a file of sentences for each gender, and none in Dutch.
    several = {("mt-geneval", "sentences"): 2, ("mt-geneval", "sentences", "nl"): 0}
    by_category = {"bbq": 11, "mbbq": 6, "mbbq-control": 6, "esbbq": 10, "cabbq": 10, "basqbbq": 8}
    for data in DATASETS.values():
        for language in data.languages:
            for part in data.parts or (None,):
                expected = several.get((data.name, str(part)), by_category.get(data.name, 1))
                expected = several.get((data.name, str(part), language), expected)
                assert len(data.select(part, [language])) == expected


def test_the_two_editions_of_gest_are_two_files() -> None:
    new, old = (DATASETS[name].sources[0].file for name in ("gest", "gest-1.0"))
    assert isinstance(new, UpstreamFile)
    assert isinstance(old, UpstreamFile)
    assert (new.path, old.path) == ("data/gest_1.1.csv", "data/gest.csv")


def test_the_starter_set_has_no_findings() -> None:
    for name in ("starter", "starter-pairs", "starter-gest"):
        for examination in validate_spec(parse_spec(name)):
            assert examination.findings == []


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "tr"])
@pytest.mark.parametrize("part", ["intrasentence", "intersentence"])
def test_the_starter_set_has_ten_items_and_more_for_each_bias_type(part: str, language: str) -> None:
    items = load("starter", part, language)
    assert len(items) >= 40
    counts: dict[str, int] = {}
    for item in items:
        assert isinstance(item, AssociationItem)
        assert (item.part, item.language) == (part, language)
        counts[item.bias_type] = counts.get(item.bias_type, 0) + 1
    assert counts.keys() == {"gender", "profession", "race", "religion"}
    assert min(counts.values()) >= 10


def test_starter_items_have_the_same_ids_in_every_language() -> None:
    ids = [{item.id for item in load("starter", None, language)} for language in LANGUAGES["starter"]]
    assert all(language_ids == ids[0] for language_ids in ids)


def test_the_other_starter_sets() -> None:
    for language in ("en", "de"):
        pairs = load("starter-pairs", None, language)
        assert len(pairs) >= 40
        assert all(isinstance(item, PairItem) for item in pairs)
    sentences = load("starter-gest", None, "en")
    assert all(isinstance(item, GestItem) for item in sentences)
    stereotypes = [item.stereotype for item in sentences if isinstance(item, GestItem)]
    assert all(stereotypes.count(number) >= 4 for number in range(1, 17))


@pytest.mark.parametrize(
    ("name", "part", "language", "mentioned"),
    [
        ("sterioset", None, "en", ("'sterioset'", "(did you mean stereoset?)", "starter, ", ".jsonl")),
        ("stereoset", "intra-sentence", "en", ("'intra-sentence'", "(did you mean intrasentence?)")),
        ("gest", "intrasentence", "en", ("gest", "'intrasentence'", "template-1, template-2")),
        ("crows-pairs", "intrasentence", "en", ("crows-pairs", "'intrasentence'", "no parts")),
        ("stereoset", None, "it", ("stereoset", "'it'", "en, de, fr, es")),
    ],
)
def test_unknown_names_parts_and_languages(
    name: str, part: str | None, language: str, mentioned: tuple[str, ...]
) -> None:
    with raises_mentioning(UsageError, *mentioned):
        load(name, part, language)


def test_a_published_folder_without_its_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items: list[Item] = [GestItem("1", "en", 2, "I sang.")]
    (tmp_path / "mine").mkdir()
    write_jsonl(items, tmp_path / "mine" / "items.jsonl")
    monkeypatch.chdir(tmp_path)
    assert load_spec(parse_spec("mine/")) == items
    with raises_mentioning(UsageError, "'mine'", "mine/"):
        load_spec(parse_spec("mine"))


def test_a_specification_without_languages_means_all_of_them() -> None:
    items = load_spec(parse_spec("starter-pairs"))
    assert [item.language for item in items] == sorted((item.language for item in items), reverse=True)
    assert {item.language for item in items} == {"en", "de"}


def test_a_file_of_one_s_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    items: list[Item] = [GestItem("1", language, 2, f"I sang in {language}.") for language in ("en", "de", "fr")]
    write_jsonl(items, path)
    assert load_file(path) == items
    assert load_spec(parse_spec(str(path))) == items
    assert load_spec(parse_spec(f"{path}:fr,en")) == [items[2], items[0]]
    with raises_mentioning(UsageError, "'tr'", "en, de, fr"):
        load_spec(parse_spec(f"{path}:tr"))
    with raises_mentioning(UsageError, str(path), "'intrasentence'"):
        load_spec(parse_spec(f"{path}/intrasentence"))


def test_a_part_of_a_file_of_one_s_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    write_jsonl([*load("starter", "intersentence", "en"), *load("starter", "intrasentence", "en")], path)
    assert load_spec(parse_spec(f"{path}/intrasentence")) == load("starter", "intrasentence", "en")


def test_a_gest_sentence_belongs_to_every_template(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    write_jsonl([GestItem("1", "en", 2, "I sang.")], path)
    assert load_spec(parse_spec(f"{path}/template-3")) == load_file(path)
    assert load("starter-gest", "template-1", "en") == load("starter-gest", None, "en")


def test_dataset_by_name() -> None:
    assert get_dataset("gest").form == "gest"
