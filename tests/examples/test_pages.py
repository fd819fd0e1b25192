"""All commands, Python blocks, JSONL and TOML files of README and docs work, and all examples of the help texts.

Each page is executed from top to bottom in a folder with the files of a reader. A local hub with tiny models, a server
of a tiny model, a tiny embedded model and a mirror of the data replace the real ones. To save time, `run`,
`sensitivity` and `make new` get `--limit`, `run` gets `--no-report`, and every data file is read once for all pages.
"""

import gc
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import tiltmeter
from tests.conftest import SHARED
from tests.examples.reader import Reader
from tests.examples.readers_folder import fill_in, json_blocks, make_folder, words_of
from tests.examples.stand_ins import choose_first, run_jobs_here, translation_service, use_data
from tests.examples.tiny_hub import tiny_hub
from tests.examples.written import PAGES, blocks, in_help, inline, lines_of, text_of
from tests.models.chat_served import ChatServer
from tests.models.served import Served, serving
from tiltmeter.datasets import load_file
from tiltmeter.making.repair.language_rules import parse_rules
from tiltmeter.making.repair.rule_precision import parse_precision
from tiltmeter.models import checkpoint
from tiltmeter.models.checkpoint import EMBEDDED, Checkpoint

# Commands that are not run, with the reason and the test that runs them instead; "…" is any ending.
NOT_RUN = {
    "tiltmeter studio…": "runs until it is stopped; tests/studio",
    "tiltmeter run gpt2 --on blanks…": "needs the package of examples/; tests/test_plugin_example.py",
    "tiltmeter reproduce all": "scores predictions of all items; tests/papers/test_reproduction.py",
    "tiltmeter reproduce oeztuerk2023": "scores predictions of all items; tests/papers/test_reproduction.py",
    "tiltmeter reproduce nadeem2021": "scores predictions of all items; tests/papers/test_reproduction.py",
    "tiltmeter reproduce oeztuerk2023 --table 7 --from-models…": "runs seven models on all items",
    "tiltmeter reproduce steinborn2022 --from-models…": "runs models on all items",
    "tiltmeter reproduce gest2024 --figure…": "scores all translations; tests/papers/test_paper_figures_drawn.py",
    "tiltmeter reproduce steinborn2022 --figure…": "needs runs; tests/papers/test_paper_figures_drawn.py",
    "tiltmeter reproduce oeztuerk2022 --figure…": "needs a trained head; tests/training/test_training_curves.py",
    "tiltmeter train curves…": "needs a trained head; tests/training/test_training_curves.py",
    "tiltmeter reference fetch…": "scores predictions of all items; tests/cli/test_reference.py",
    "tiltmeter compare runs/bert --with published…": "needs published results; tests/cli/test_reference.py",
    "tiltmeter train pairs --articles en=hf:…": "streams a data set of the hub; tests/training/test_articles.py",
    "tiltmeter run embedded --on eurogest": "reads 60,062 sentences; three of the thirty languages are run",
    "pip install…": "needs a package index",
    "make…": "installs, or runs the tests",
    "tiltmeter matrix plan.toml --out /shared/matrix --engine…": "needs a cluster; tests/cluster",
    "tiltmeter matrix plan.toml --out runs/matrix --engine…": "needs a cluster; tests/cluster",
    "tiltmeter run vllm:…": "needs vLLM; tests/models/test_vllm.py",
    "MLFLOW_TRACKING_URI=…": "needs a server of MLflow; tests/reports/test_run_trackers.py",
    "tiltmeter run ./my-model --on stereoset:en --log-to mlflow": "needs MLflow; tests/reports/test_run_trackers.py",
    "tiltmeter score --predictions out/…": "needs a log of lm-eval; tests/runs/test_harness_predictions.py",
    "tiltmeter score --predictions logs/…": "needs a log of Inspect; tests/runs/test_harness_predictions.py",
    "VLLM_TARGET_DEVICE=cpu vllm serve…": "a server of another project",
}

# The runs that pages use without creating them, with the arguments of `tiltmeter run`.
RUNS = {
    "bert": "bert-base-cased --on stereoset:en",
    "roberta": "roberta-base --on stereoset:en",
    "gpt2": "gpt2 --on stereoset:en",
    "new": "./model --on stereoset:en,de",
    "old": "bert-base-cased --on stereoset:en,de",
    "released": "bert-base-cased --on stereoset:en,de",
    "multilingual": "bert-base-multilingual-cased --on stereoset:en,de",
    "demo": "embedded --on starter",
    "gest": "bert-base-uncased gpt2 --on gest",
    "matrix/bert": "google-bert/bert-base-cased --on stereoset:en",
    "matrix/roberta": "roberta-base --on stereoset:en",
    "older": "gpt2 --on stereoset:en",
    "plain": "chat:my-model@http://localhost:8000/v1 --on stereoset:en",
    "tuned": "roberta-base --on stereoset:en",
}

# The TOML files that a page prints, in order.
TOML = {
    "docs/how-to/comparing.md": ["models.toml"],
    "docs/how-to/matrices.md": ["plan.toml"],
    "docs/how-to/board.md": ["models.toml"],
    "docs/how-to/gates.md": ["tiltmeter.toml"],
    "docs/how-to/review.md": ["my-es/project.toml", "my-sk/writing.toml", "my-sk/rating.toml"],
    "docs/how-to/repair.md": ["my-es/precision.toml", "rules/xx.toml"],
    "docs/how-to/extending.md": ["pyproject.toml"],
    "docs/how-to/own-prompts.md": ["pyproject.toml"],
}

# Files that every reader has, with the page that prints them.
PRINTED = {
    "tiltmeter.toml": "docs/how-to/gates.md",
    "models.toml": "docs/how-to/comparing.md",
    "plan.toml": "docs/how-to/matrices.md",
}

# Pages that use a project of translated items without creating it.
PROJECTS = ["docs/how-to/repair.md", "docs/how-to/review.md", "docs/evidence/untranslated.md", "help"]

Open = Callable[[str], Reader]


@pytest.fixture(scope="module")
def follow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Return a function that creates a reader for a page, in a folder with the files of a reader."""
    mirror = Path(os.environ.get("TILTMETER_MIRROR") or SHARED / "upstream")
    if not mirror.is_dir():
        pytest.skip("the upstream data sets are missing: set TILTMETER_MIRROR to a mirror of them")
    folder = tmp_path_factory.mktemp("reader")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("TILTMETER_CACHE", str(folder / "cache"))
        patch.setenv("TILTMETER_MIRROR", str(mirror))
        stack.enter_context(tiny_hub(folder / "hub", words_of(mirror)))
        own = make_folder(folder / "own", mirror, folder / "hub")
        embedded = Checkpoint(EMBEDDED, own, gguf="model.gguf", revision="0.1.2")
        patch.setattr(checkpoint, "_find_builtin_model", lambda: embedded)
        use_data(patch, own)
        run_jobs_here(patch)
        stack.enter_context(translation_service(patch))
        gc.disable()  # it would scan the items of all data sets, which stay in memory, again and again
        stack.callback(gc.enable)
        server = stack.enter_context(serving(Served(own / "my-model"), ChatServer(choose_first).completion, "my-model"))
        patch.chdir(own)
        for name, words in RUNS.items():
            assert Reader(own, server).type(f"tiltmeter run {words} --out runs/{name}") is None

        def opened(page: str) -> Reader:
            copy = shutil.copytree(own, folder / page.replace("/", "-"), symlinks=True)
            for name, source in PRINTED.items():
                (config,) = (block.text for block in blocks(source) if block.kind == "toml")
                fill_in(copy / name, config)
            if page in PROJECTS:
                shutil.copytree(copy / "review", copy, dirs_exist_ok=True)
            os.chdir(copy)
            os.environ["TILTMETER_CACHE"] = str(folder / "cache")
            return Reader(copy, server)

        yield opened


def is_run(line: str) -> bool:
    return not any(is_meant(line, entry) for entry in NOT_RUN)


def is_meant(line: str, entry: str) -> bool:
    return line.startswith(entry[:-1]) if entry.endswith("…") else line == entry


@pytest.mark.parametrize("page", [page for page in PAGES if any(map(lines_of, blocks(page))) or list(inline(page))])
def test_a_page_works_as_printed(page: str, follow: Open) -> None:
    reader, printed_toml = follow(page), iter(TOML.get(page, ()))
    problems: list[str | None] = []
    for block in blocks(page):
        if block.kind == "python":
            problems.append(reader.execute(block.text))
        elif block.kind == "toml":
            fill_in(reader.folder / next(printed_toml), block.text)
        problems += [problem for line in filter(is_run, lines_of(block)) for problem in reader.follow(line)]
    problems += map(reader.type, filter(is_run, inline(page)))
    assert [problem for problem in problems if problem] == []
    assert list(printed_toml) == []


def test_the_examples_of_the_help_texts_work(follow: Open) -> None:
    reader = follow("help")
    on_pages = {line for page in PAGES for block in blocks(page) for line in lines_of(block)}
    remaining = [line for line in in_help() if line.replace(" -o ", " --out ") not in on_pages and is_run(line)]
    assert [problem for line in remaining for problem in reader.follow(line)] == []


def test_excluded_commands_are_in_the_docs() -> None:
    written = {line for page in PAGES for block in blocks(page) for line in lines_of(block)}
    written |= {line for page in PAGES for line in inline(page)} | {*in_help()}
    assert [entry for entry in NOT_RUN if not any(is_meant(line, entry) for line in written)] == []


def test_pages_have_the_figures_of_the_reproduction() -> None:
    (row,) = re.findall(r"^\| all \|  \| numbers \| (.*) \|$", text_of("docs/evidence/reproduction.md"), re.MULTILINE)
    printed, agree, known, tolerated, differ, absent = (int(cell.replace(",", "")) for cell in row.split(" | ")[:6])
    claim = (
        r"Of ([\d,]+) printed numbers, ([\d,]+) could be recomputed: ([\d,]+) agree.*?, ([\d,]+) differ for a known "
        r"reason, and ([\d,]+) differ within"
    )
    figures = re.search(claim, " ".join(text_of("docs/how-to/reproducing.md").split()))
    assert figures is not None
    expected = [printed, printed - absent, agree, known, tolerated]
    assert [int(number.replace(",", "")) for number in figures.groups()] == expected
    assert differ == 0
    assert f" of {printed:,} printed numbers" in " ".join(text_of("README.md").split())


@pytest.mark.parametrize("text", json_blocks("README.md") + json_blocks("docs/reference/file-formats.md"))
def test_a_printed_file_of_items_is_read_without_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(text, encoding="utf-8")
    assert len(load_file(tmp_path / "mine.jsonl")) == len(text.splitlines())


def test_printed_rules_of_repair_and_entry_points_are_valid() -> None:
    precision, rules = (block.text for block in blocks("docs/how-to/repair.md") if block.kind == "toml")
    assert parse_precision(precision, "precision.toml")["spaces"].is_proven
    assert parse_rules(rules, "de.toml")
    (points,) = (block.text for block in blocks("docs/how-to/extending.md") if block.kind == "toml")
    printed = tomllib.loads(points)["project"]["entry-points"]
    source = "".join(file.read_text(encoding="utf-8") for file in Path(tiltmeter.__file__).parent.rglob("*.py"))
    groups = re.findall(r'(?:list_plugins|load_components)\(\s*"(\w+)"', source)
    assert set(printed) == {f"tiltmeter.{group}" for group in groups}
    assert all(printed.values())
