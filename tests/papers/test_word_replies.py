"""The released replies about word associations, tested on made files in their layout."""

from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.readers.iat_stimuli import parse_synonyms, parse_words, read_stimuli
from tiltmeter.datasets.upstream_files import load_repositories
from tiltmeter.errors import DataError
from tiltmeter.papers.printed_numbers import find_paper, read_printed_numbers
from tiltmeter.papers.reproduction import ReproductionStatus, recompute_numbers
from tiltmeter.papers.sources import word_replies
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.papers.sources.source_lookup import find_source

STIMULI = "category,dataset,A,B,C\nage,age,Young,Old,swift\nage,age,,,agile\nage,age,,,slow\nage,age,,,stiff\n"
# The second test has an occupation and full names at its end, so that the halves of its list are shifted.
SYNONYMS = """\
,category,dataset,A,B,C,D
0,age,age,Young,Old,swift,quick
1,age,age,,,agile,nimble
2,age,age,,,slow,late
3,age,age,,,stiff,rigid
4,race,black,Fox,Bear,calm,still
5,race,black,Ada Fox,Bob Bear,late,dull
6,race,black,,,secretaries,managers
7,race,black,,,programmers,executives
"""
REPLIES = ",0,llm,domain,category,variation\n"
REPLIES += '0,"swift - young\nagile - young\nslow - old\nstiff - old",gpt4o,health,age,x\n'
REPLIES += '1,"swift - old\nagile - young\nslow - old\nstiff - ancient",gpt4o,health,age,x\n'
REPLIES += "2,Sorry.,gpt4o,health,age,x\n"


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecipeContext:
    files = {word_replies.STIMULI: STIMULI, word_replies.SYNONYMS: SYNONYMS}
    for variation in ("replication", "instruction1"):
        column = "0" if variation == "replication" else "response"  # the released files have one of these names
        files[word_replies.get_reply_path("age", variation)] = REPLIES.replace(",0,", f",{column},", 1)
    for name, text in files.items():
        path = tmp_path / Path(name).name
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(RecipeContext, "fetch_file", lambda _context, _repository, name: tmp_path / Path(name).name)
    return RecipeContext()


def test_d_is_the_mean_over_the_replies(context: RecipeContext) -> None:
    numbers = word_replies.measure_replies(context, "age", "replication")
    perfect = 2 / 2.01 + 2 / 2.01 - 1
    # Two words are assigned to old, one of them as in the stereotype; the word without a known group does not count.
    second = 1 / 2.01 + 1 / 1.01 - 1
    assert numbers["d",] == pytest.approx((perfect + second + 0) / 3)
    assert numbers["replies",] == 3
    assert numbers == word_replies.measure_replies(context, "age", "instruction1")


def test_the_labels_of_the_notebook_are_halves_over_all_tests(context: RecipeContext) -> None:
    # The word `late` is in the first half of the other list, so the notebook counts it as a word about the young.
    stimuli = read_stimuli(context.fetch_file("", word_replies.SYNONYMS), synonyms=True)
    labels = word_replies._list_notebook_labels(stimuli)
    assert [labels[word] for word in ("quick", "late", "rigid", "managers")] == [True, True, False, False]


def test_the_data_sets_leave_out_the_decision_words(context: RecipeContext) -> None:
    words = list(parse_words(context.fetch_file("", word_replies.STIMULI), "en"))
    assert [(row.values or {})["group"] for row in words] == ["young", "young", "old", "old"]
    similar = [row.values or {} for row in parse_synonyms(context.fetch_file("", word_replies.SYNONYMS), "en")]
    assert [(v["word"], v["group"], v["other_group"]) for v in similar if v["test"] == "black"] == [
        ("still", "fox", "bear"),
        ("dull", "bear", "fox"),
    ]


def test_every_released_file_has_numbers_and_they_are_only_recomputed(context: RecipeContext) -> None:
    numbers = [number for number in read_printed_numbers(find_paper("bai2025")) if number.table != "text"]
    paths = {source.recipe.name for source in map(find_source, numbers) if source.recipe is not None}
    assert paths == {path for path in load_repositories()[word_replies.REPOSITORY].files if path.startswith("data/")}
    assert len(paths) == 84
    one = next(n for n in numbers if (n.cell["stereotype"], n.cell["variation"]) == ("age", "replication"))
    (outcome,) = recompute_numbers([one], context).outcomes
    assert outcome.status is ReproductionStatus.UNPRINTED
    assert outcome.ours is not None


def test_a_file_without_replies_is_broken(tmp_path: Path) -> None:
    (tmp_path / "replies.csv").write_text("id,text\n1,none\n", encoding="utf-8")
    with raises_mentioning(DataError, "replies.csv", "no replies"):
        list(word_replies.read_replies(tmp_path / "replies.csv"))
