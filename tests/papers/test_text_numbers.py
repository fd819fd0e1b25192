"""Numbers in running text, captions and smaller tables."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.messages import assert_mentions
from tiltmeter.papers.output.reproduction_json import to_json
from tiltmeter.papers.output.reproduction_markdown import to_markdown
from tiltmeter.papers.printed_numbers import TEXT, PrintedNumber, find_paper, load_papers, read_printed_numbers
from tiltmeter.papers.reproduction import Reproduction, ReproductionStatus, reproduce
from tiltmeter.papers.rounding import matches_printed
from tiltmeter.papers.sources import table_facts
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.papers.sources.stereoset_facts import count_items
from tiltmeter.papers.sources.table_facts import collect_rates, summarize_printed_tables

Frame = dict[str, list[Any]]


class FrameContext(RecipeContext):
    """A context with data frames in memory instead of files."""

    def __init__(self, frames: dict[str, Frame]) -> None:
        super().__init__()
        self.frames = frames

    def fetch_file(self, repository: str, path: str) -> Path:
        return Path(path)

    def compute_once(self, function: Callable[..., Any], *arguments: object) -> Any:
        (path,) = arguments
        assert isinstance(path, Path)
        return self.frames[path.stem]


def frame(contexts: list[str], targets: list[str], *, part: str, german: bool = False) -> Frame:
    texts = "word" if part == "intrasentence" else "sentence"
    made: Frame = {
        "id": [str(number) for number in range(len(contexts))],
        "target": targets,
        "bias_type": ["gender", *["profession"] * (len(contexts) - 1)],
        "context": contexts,
        **{f"c{number}_{texts}": ["abc"] * len(contexts) for number in (1, 2, 3)},
    }
    return made | ({"target_original": ["grandmother"] * len(contexts)} if german else {})


def test_the_facts_of_a_frame() -> None:
    contexts, targets = ["The chef sang.", "The chef sang.", "A chef!"], ["chef", "chef", "baker"]
    english = frame(contexts, targets, part="intersentence")
    facts = count_items(FrameContext({"df_intersentence_en": english}), "intersentence", "en")
    assert facts == {
        ("items",): 3,
        ("columns of the frame",): 7,
        ("different contexts",): 2,
        ("target terms",): 2,
        ("most items of a term",): 2,
        ("fewest items of a term",): 1,
        ("characters of contexts and candidates",): 14 + 14 + 7 + 3 * 3 * 3,
        ("characters with target terms",): 14 + 14 + 7 + 27 + 4 + 4 + 5,
        ("items whose target term is not in the context",): 1,
        ("items about gender",): 1,
        ("items about profession",): 2,
    }


def test_a_term_is_found_in_capital_letters_and_terms_are_counted_in_english() -> None:
    context = FrameContext(
        {
            "df_intrasentence_en": frame(["BLANK", "BLANK", "BLANK"], ["a", "b", "c"], part="intrasentence"),
            "df_intrasentence_de": frame(
                ["DIE STRASSE IST BLANK.", "Die Oma ist BLANK."],
                ["Straße", "Großmutter"],
                part="intrasentence",
                german=True,
            ),
        }
    )
    facts = count_items(context, "intrasentence", "de")
    assert facts["items whose target term is not in the context",] == 1
    assert facts["items fewer than in English",] == 1
    assert facts["target terms",] == 1


def test_around_a_number_agrees_to_its_leading_digits() -> None:
    assert matches_printed("130000", 132_535, -4)
    assert matches_printed("380000", 378_096, -4)
    assert not matches_printed("380000", 360_185, -4)


def test_mean_correlations_of_made_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The three means equal those of a plain loop over the rates with numpy."""
    rng = np.random.default_rng(0)
    made: list[PrintedNumber] = []
    for number in read_printed_numbers(find_paper("gest2024")):
        text = f"{rng.uniform(0.5, 2):.2f}" if number.table in ("9", "10", "11") else number.text
        made.append(PrintedNumber(number.paper, number.table, number.cell, number.kind, text))
    monkeypatch.setattr(table_facts, "read_printed_numbers", lambda _paper: made)
    ours = summarize_printed_tables(RecipeContext(), "gest2024")
    values = [number for number in made if number.kind == "value"]
    logs = {
        (table, *head): np.log([row[number] for number in range(1, 17)])
        for table in ("9", "10", "11")
        for head, row in collect_rates(values, table).items()
    }
    expected: dict[str, list[float]] = {"templates": [], "models": [], "pairs of a model and a language": []}
    heads = list(logs)
    for at, one in enumerate(heads):
        for other in heads[:at]:
            r = float(np.corrcoef(logs[one], logs[other])[0, 1])
            if one[0] == other[0] == "11":
                if "bert-base-multilingual-cased" not in (one[1], other[1]):
                    expected["pairs of a model and a language"].append(r)
            elif one[0] == other[0] and one[1] == other[1]:
                expected["templates"].append(r)
            elif one[0] == other[0] and one[-1] == other[-1]:
                expected["models"].append(r)
    assert [len(found) for found in expected.values()] == [11 * 6 + 22, 4 * 55 + 2 * 231, 36 * 35 // 2]
    for name, found in expected.items():
        assert ours[f"mean correlation between {name}",] == pytest.approx(np.mean(found))


def test_a_tie_is_not_the_lowest_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "pairs in which stereotype 7 has the lowest masculine rate"
    numbers = read_printed_numbers(find_paper("gest2024"))
    before = summarize_printed_tables(RecipeContext(), "gest2024")[name,]

    def tied(number: PrintedNumber) -> PrintedNumber:
        cell = number.cell
        google = number.table == "8" and (cell["system"], cell["language"]) == ("GoogleTranslate", "be")
        if google and number.kind == "value" and cell["stereotype"] in ("7", "8"):
            return PrintedNumber(number.paper, number.table, cell, number.kind, "0.10")
        return number

    monkeypatch.setattr(table_facts, "read_printed_numbers", lambda _paper: [tied(number) for number in numbers])
    assert summarize_printed_tables(RecipeContext(), "gest2024")[name,] == before - 1


def test_places_are_named_and_what_is_left_out_has_a_reason() -> None:
    for source in load_papers().values():
        for number in read_printed_numbers(source):
            assert (number.table == TEXT) == ("place" in number.cell)
            if number.table == TEXT:
                assert number.build_row_head()[0].startswith(("Abstract", "Section ", "Table ", "Appendix "))
                assert number.build_column_head() == ()
        places = [left.place for left in source.left_out]
        assert len(places) == len(set(places))
        assert all(left.reason.endswith(".") for left in source.left_out)
    assert {key for key, source in load_papers().items() if source.left_out} == {
        "oeztuerk2023",
        "oeztuerk2022",
        "steinborn2022",
        "gest2024",
        "bai2025",
    }


@pytest.fixture
def thesis(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Reproduction:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    return reproduce("oeztuerk2022", table=TEXT)


def test_all_outputs_have_them(thesis: Reproduction) -> None:
    page = to_markdown(thesis)
    place = "Section 3.1.4, paragraph 4"
    term = "items whose target term is not in the context"
    file = "create_dataset/data/intrasentence/df_intrasentence_de_v2_0.pkl"
    assert_mentions(page, f"| {place} |", f"{term} | 562 | 562 |", f"agrees; {file}")
    assert "- oeztuerk2022, Tables 2.1 to 2.3: " in page
    assert_mentions(page, "1 number in oeztuerk2022, text.")
    content = json.loads(to_json(thesis))
    assert content["papers"]["oeztuerk2022"]["not_recomputed"]["Tables 2.1 to 2.3"].endswith(".")
    assert {(n["table"], n["place"]) for n in content["numbers"]} >= {("text", place)}


def test_a_misprint_in_the_text_makes_the_command_fail(command: Any, misprint: Any) -> None:
    misprint("563", table=TEXT, of="German intrasentence, before repair")
    result = command("oeztuerk2022", "--table", "text")
    assert result.exit_code == 1
    assert_mentions(result.stdout, "oeztuerk2022, text,", "Section 3.1.4, paragraph 4")


def test_a_reason_in_the_text_excuses_only_what_it_explains(command: Any, misprint: Any) -> None:
    misprint("390000", table=TEXT, of="intersentence", metric="characters of contexts and candidates")
    assert command("oeztuerk2022", "--table", "text").exit_code == 1


def test_the_reasons_are_used(thesis: Reproduction) -> None:
    known = {o.reason.id for o in thesis.outcomes if o.status is ReproductionStatus.KNOWN and o.reason is not None}
    assert known == {"characters-with-targets", "later-edition"}
