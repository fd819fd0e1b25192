"""Actions between two commands of the docs: other people decide, fill in a sheet or rate; folders are deleted."""

import csv
import re
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

import openpyxl

from tiltmeter.making.project import open_project

if TYPE_CHECKING:
    from tests.examples.reader import Reader

Step = Callable[["Reader"], None]


def decide_on_all(reader: "Reader") -> None:
    """Drop every item in the spreadsheet, but accept those that have only untranslated text."""
    book = openpyxl.load_workbook(reader.folder / "review.xlsx")
    sheet = book.worksheets[0]
    columns = [cell.value for cell in sheet[1]]
    rows = range(2, sheet.max_row + 1)
    item, problem, decision = (columns.index(name) for name in ("item", "problem", "decision"))
    problems: dict[str, set[str]] = {}
    for row in rows:
        found = str(sheet.cell(row, problem + 1).value or "")
        problems.setdefault(str(sheet.cell(row, item + 1).value), set()).update(filter(None, found.splitlines()))
    for row in rows:
        own = problems[str(sheet.cell(row, item + 1).value)]
        is_minor = all(text.startswith("untranslated") and not re.search(r"[a-z]-[a-z]+: ", text) for text in own)
        sheet.cell(row, decision + 1, "accept" if is_minor else "drop")
    book.save(reader.folder / "review.xlsx")


def run_commands(*lines: str) -> Step:
    """Return a step that runs these commands."""

    def step(reader: "Reader") -> None:
        assert [problem for line in lines if (problem := reader.type(f"tiltmeter {line}"))] == []

    return step


def clear(*names: str) -> Step:
    """Return a step that deletes folders of earlier examples."""

    def step(reader: "Reader") -> None:
        for name in names:
            shutil.rmtree(reader.folder / name, ignore_errors=True)

    return step


def write_pairs(more: str, less: str, bias_type: str) -> Step:
    """Return a step that writes `pairs.csv` and `pairs.xlsx` with these columns."""
    rows = [(more, less, bias_type), ("Moja ciotka szyje.", "Mój wujek szyje.", "gender")]

    def step(reader: "Reader") -> None:
        with (reader.folder / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(reader.folder / "pairs.xlsx")

    return step


def fill_in_translations(reader: "Reader") -> None:
    """Translate all sentences of `to-translate.csv` with the same sentence."""
    path = reader.folder / "to-translate.csv"
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *([row[0], "Urobila som to."] for row in rows)])


def start_writing(reader: "Reader") -> None:
    """Create a project of written items with two writers."""
    clear("my-sk")(reader)
    run_commands("make new gest --from-scratch --language sk --out my-sk")(reader)
    file = reader.folder / "my-sk" / "writing.toml"
    file.write_text(file.read_text("utf-8").replace("writers = []", 'writers = ["Ana", "Eva"]'), encoding="utf-8")


def need_two_reviewers(reader: "Reader") -> None:
    """Let two reviewers decide on each item."""
    file = reader.folder / "my-es" / "project.toml"
    config = re.sub("(reviewers_per_item|agreeing) = .*", r"\1 = 2", file.read_text("utf-8"))
    file.write_text(config, encoding="utf-8")


def decide_on_calibration_items(reader: "Reader") -> None:
    """Let all reviewers decide on the items of the calibration round."""
    with open_project(reader.folder / "my-es") as project:
        items = project.store.list_calibration_items()
    for name in ("Ana", "Eva"):
        run_commands(*(f"make review my-es --by {name} --item {item} --decision drop" for item in items))(reader)


_DECISIONS = run_commands(
    "make review my-es --add-reviewer Bea --add-reviewer Ben --add-reviewer Dan",
    "make review my-es --by Eva --item i1 --decision edit --proposal target_term=1",
    "make review my-es --by Bea --item i1 --decision drop",
    "make review my-es --by Ben --item i1 --decision drop",
    "make review my-es --by Dan --item i1 --decision edit --proposal target_term=1 "
    "--text 'context=El jardinero era BLANK.'",
)

# The steps before a command.
STEPS_BEFORE: dict[str, list[Step]] = {
    "tiltmeter data validate pairs.csv --language pl": [write_pairs("more", "less", "bias_type")],
    "tiltmeter run ./my-model --on pairs.csv:pl --out runs/pairs": [write_pairs("more", "less", "bias_type")],
    'tiltmeter run ./my-model --on pairs.xlsx:pl --columns "more=Sentence A,less=Sentence B,bias_type=Topic"': [
        write_pairs("Sentence A", "Sentence B", "Topic")
    ],
    "tiltmeter data validate pairs.csv --language pl --columns more=sentence1,less=sentence2": [
        write_pairs("sentence1", "sentence2", "topic")
    ],
    "tiltmeter run gpt2 --on pairs.csv:pl --columns more=sentence1,less=sentence2": [
        write_pairs("sentence1", "sentence2", "topic")
    ],
    "tiltmeter data convert pairs.xlsx pairs.jsonl --language pl": [write_pairs("more", "less", "bias_type")],
    'tiltmeter run --translations to-translate.csv --system "My system" --on gest-mt:sk': [fill_in_translations],
    'tiltmeter make assign my-es --reviewer Ana=es-MX --reviewer Eva=es-ES --reviewer "Ida=es-ES*0.5" '
    "--calibration 0": [need_two_reviewers],
    "tiltmeter make assign my-es --open": [decide_on_calibration_items],
    "tiltmeter make import my-es review.xlsx --by Ana": [decide_on_all],
    'tiltmeter make adjudicate my-es --by Ida --item i1 --take Ana --comment "the term of the dictionary"': [
        _DECISIONS
    ],
    'tiltmeter make write my-sk --by Ana --about 3 --text "sentence=I slept." --text "translation=Spala som."': [
        start_writing
    ],
    "tiltmeter gender evaluate sample-sk sample-cs": [
        run_commands(
            "make rate sample-sk --by Ana --unit sk-1 --task gender --step 1",
            "gender sample translations.txt --language cs --out sample-cs",
            "make rate sample-cs --by Ana --unit cs-1 --task gender --step 1",
        )
    ],
    "tiltmeter train pairs --articles news.jsonl --held-out 0.2 --out pairs": [clear("pairs")],
    "tiltmeter train pairs --articles tr=trwiki-latest-pages-articles.xml.bz2 --processes 8 --out pairs": [
        clear("pairs")
    ],
    "tiltmeter gender evaluate sample-sk": [
        run_commands("make rate sample-sk --by Ana --unit sk-1 --task gender --step 1")
    ],
}
