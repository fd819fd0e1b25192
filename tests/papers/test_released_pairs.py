"""The released scores of pairs, tested on generated files in all layouts of the released ones."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.upstream_files import get_upstream_file
from tiltmeter.errors import DataError
from tiltmeter.papers.printed_numbers import find_paper, read_printed_numbers
from tiltmeter.papers.sources import dutch_crows, rubia_scores
from tiltmeter.papers.sources.dutch_crows import PAIRS, measure_pair_scores, read_pair_scores
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.papers.sources.rubia_scores import MODELS
from tiltmeter.papers.sources.source_lookup import find_source

HEADER = ["sent_more", "sent_less", "sent_more_score", "sent_less_score", "score", "stereo_antistereo", "bias_type"]


def released(first: str, delimiter: str, encoding: str, *, preferred: int, ties: int = 0) -> bytes:
    """Return a file of scores in which the more stereotypical sentence is preferred in `preferred` pairs."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow([first, *HEADER])
    for number in range(PAIRS):
        scores = (
            (-20.5, -21.0) if number < preferred else (-20.5, -20.5) if number < preferred + ties else (-22.0, -21.0)
        )
        texts = ("Zoë breit, en zingt; soms.", "Daniël breit.")
        writer.writerow([number, *texts, *scores, int(number < preferred), "stereo", "age" if number % 2 else "gender"])
    return stream.getvalue().encode(encoding)


@pytest.mark.parametrize(
    ("model", "language", "layout"),
    [
        # Layouts of files that are not in the mirror.
        ("mBERT", "nl", ("id", ",", "mac_roman")),
        ("RobBERT", "nl", ("id", ",", "mac_roman")),
        ("RoBERTa", "en", ("", ",", "utf-8")),
        ("FlauBERT", "fr", ("", ",", "utf-8")),
        # The layout of the file in the mirror.
        ("BERT", "en", ("", ";", "utf-8")),
    ],
)
def test_every_layout(
    model: str, language: str, layout: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = next(n for n in read_printed_numbers(find_paper("strazda2025")) if n.cell["model"] == model)
    preferred = round(float(number.text) * PAIRS / 100)
    path = tmp_path / "scores.csv"
    path.write_bytes(released(*layout, preferred=preferred, ties=2))
    fetched = []
    monkeypatch.setattr(
        RecipeContext, "fetch_file", lambda _context, repository, name: fetched.append((repository, name)) or path
    )
    source = find_source(number)
    assert source.recipe is not None
    assert (source.recipe.compute, source.recipe.arguments) == (measure_pair_scores, (model, language))
    numbers = RecipeContext().compute_numbers(source.recipe)
    assert f"{numbers[source.key]:.2f}" == number.text
    # Half of the pairs preferred are about age; a tie counts against the stereotype.
    assert numbers["bias_type", "age", "CPS"] == pytest.approx(100 * (preferred // 2) / (PAIRS // 2))
    assert get_upstream_file(*fetched[0])


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda text: text.replace("sent_less_score", "score_less", 1), ["no column sent_less_score"]),
        (lambda text: text.replace("-20.5", "-23.0", 1), ["pair 1:", "preference"]),
        (lambda text: text.replace("-20.5", "many", 1), ["pair 1:", "two scores"]),
        (lambda text: text.replace("-20.5", "nan", 1), ["pair 1:", "two scores"]),
        (lambda text: text.rpartition("\r\n1462,")[0], ["1462 pairs", "1463"]),
        (lambda text: text.replace(",stereo,gender", "", 1), ["pair 1:", "six other values"]),
    ],
)
def test_a_damaged_file_is_an_error(change: Callable[[str], str], parts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(change(released("id", ",", "utf-8", preferred=800).decode()), encoding="utf-8", newline="")
    with raises_mentioning(DataError, str(path), *parts):
        read_pair_scores(path, "BERTje", "nl")


def test_every_model_has_a_pinned_file() -> None:
    for number in read_printed_numbers(find_paper("strazda2025")):
        name = dutch_crows.get_score_path(number.cell["model"], number.cell["language"])
        assert get_upstream_file(dutch_crows.REPOSITORY, name).pin.is_hash


def perplexities(folder: Path, rows: list[tuple[str, str, str, str, float, float]]) -> Path:
    columns = [f"ppl-{side}-{model}" for model in MODELS.values() for side in ("pro", "anti")]
    lines = ["\t".join(["pro-trope", "anti-trope", "domain", "task_type", *columns])]
    lines += ["\t".join([*texts, *[str(pro), str(anti)] * len(MODELS)]) for *texts, pro, anti in rows]
    path = folder / "scored_data.tsv"
    path.write_text("\r\n".join([*lines, ""]), encoding="utf-8", newline="")
    return path


def test_perplexities_by_domain_and_subdomain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        ("Она шьёт", "Он шьёт", "gender", "freeform_family_full", 9.0, 10.0),
        ("Она шьёт", "Он шьёт", "gender", "freeform_family_stereotype", 9.0, 10.0),
        ("Она пилит", "Он пилит", "gender", "freeform_family_full", 11.0, 10.0),
        ("Три", "Два", "lgbtq", "freeform_gendergap", 1.0, 2.0),
        ("Пять", "Шесть", "lgbtq", "freeform_lgb", 2.0, 1.0),
        ("Семь", "Семь", "class", "freeform_full", 2.0, 2.0),
    ]
    path = perplexities(tmp_path, rows)
    monkeypatch.setattr(RecipeContext, "fetch_file", lambda *_: path)
    context = RecipeContext()

    def value(domain: str, subdomain: str, **cell: str) -> float:
        source = rubia_scores.find_source(
            {"domain": domain, "subdomain": subdomain, "model": "ruGPT-medium", **cell}, from_models=False
        )
        assert source.recipe is not None
        return context.compute_numbers(source.recipe)[source.key]

    assert value("gender", "all") == pytest.approx(200 / 3)
    assert value("gender", "all", pairs="distinct") == 50.0
    assert value("diverse", "all") == 50.0
    assert value("diverse", "all", pairs="without freeform_gendergap") == 0.0
    assert [value("diverse", name) for name in ("freeform_1", "freeform_2")] == [100.0, 0.0]
    assert value("class", "all") == 0.0


def test_a_damaged_file_of_perplexities_is_an_error(tmp_path: Path) -> None:
    path = perplexities(tmp_path, [("Три", "Два", "class", "freeform_full", 1.0, 2.0)])
    text = path.read_text(encoding="utf-8")
    for damaged, parts in (
        (text.replace("ppl-pro-mGPT", "mGPT"), ["no column ppl-pro-mGPT", "download"]),
        (text.replace("1.0", "low", 1), ["row 1, ppl-pro-XGLM", "'low'"]),
        (text[:-9], ["row 1, ppl-"]),
    ):
        path.write_text(damaged, encoding="utf-8")
        with raises_mentioning(DataError, *parts):
            rubia_scores.read_perplexities(path)
