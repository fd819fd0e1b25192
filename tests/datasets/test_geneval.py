"""MT-GenEval: the reader, on made files of the released layout."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.messages import assert_mentions
from tiltmeter.datasets import DATASETS
from tiltmeter.datasets.readers import validate_file

SENTENCES = {
    "geneval-sentences-feminine-test.en_es.en": "She is a gardener.\nHer sister sells\u2028flowers.",
    "geneval-sentences-masculine-test.en_es.en": "He is a gardener.\nHis brother sells flowers.",
    "geneval-sentences-feminine-test.en_es.es": "Ella es jardinera.\nSu hermana vende flores.",
    "geneval-sentences-masculine-test.en_es.es": "Él es jardinero.\nSu hermano vende flores.",
}
CONTEXT = {
    "geneval-context-wikiprofessions-2to1-test.en_es.en": (
        "He likes roses. <sep> Kim is a gardener.\n"
        "She met him there.<sep>Sam is a cook.\n"
        "<sep> Robin is an artist.\n"
        "Her garden is large. <sep> Alex is a cook."
    ),
    "geneval-context-wikiprofessions-original-test.en_es.es": (
        "Kim es jardinero.\nSam es cocinera.\nRobin es artista.\nAlex es cocinera."
    ),
    "geneval-context-wikiprofessions-flipped-test.en_es.es": (
        "Kim es jardinera.\nSam es cocinero.\nRobin es artista.\nAlex es cocinero."
    ),
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")
    return folder / next(iter(files))


def test_counterfactual_sentences(tmp_path: Path) -> None:
    path = written(tmp_path, SENTENCES)
    first, second = validate_file(path, "geneval", "es").items
    assert (first.id, first.pair, first.gender, first.part) == ("sentences/1/feminine", "1", "feminine", "sentences")
    assert (first.source, first.correct, first.incorrect) == (
        "She is a gardener.",
        "Ella es jardinera.",
        "Él es jardinero.",
    )
    # A line separator inside a line is not the end of the line.
    assert second.source == "Her sister sells\u2028flowers."
    other = validate_file(path.with_name("geneval-sentences-masculine-test.en_es.en"), "geneval", "es").items
    assert (other[0].id, other[0].correct, other[0].incorrect) == (
        "sentences/1/masculine",
        "Él es jardinero.",
        "Ella es jardinera.",
    )


def test_contexts_and_their_gender(tmp_path: Path) -> None:
    examination = validate_file(written(tmp_path, CONTEXT), "geneval", "es")
    assert [item.gender for item in examination.items] == ["masculine", "unknown", "unknown", "feminine"]
    assert [item.context for item in examination.items] == [
        "He likes roses.",
        "She met him there.",
        "",
        "Her garden is large.",
    ]
    found = {(finding.code, finding.item) for finding in examination.findings}
    assert found == {("no-context", "context/3"), ("no-wrong-words", "context/3")}


@pytest.mark.parametrize(
    ("file", "content", "parts"),
    [
        ("flipped-test.en_es.es", "Kim es jardinera.", ("has 4 lines", "flipped-test.en_es.es has 1")),
        ("2to1-test.en_es.en", "a\nb <sep> c\nd <sep> e\nf <sep> g", ("line 1: ", "<sep>")),
    ],
)
def test_broken_files(file: str, content: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    path = written(tmp_path, CONTEXT | {f"geneval-context-wikiprofessions-{file}": content})
    errors = [str(finding) for finding in validate_file(path, "geneval", "es").findings if finding.severity == "error"]
    assert_mentions(errors[0], *parts)


def test_a_file_without_references_and_one_of_another_name(tmp_path: Path) -> None:
    path = tmp_path / "geneval-context-wikiprofessions-2to1-test.en_es.en"
    path.write_text("a <sep> b\n", encoding="utf-8")
    (finding,) = validate_file(path, "geneval", "es").findings
    assert_mentions(finding.message, "needs", "geneval-context-wikiprofessions-original-test.en_es.es")
    path.rename(tmp_path / "other.en")
    (finding,) = validate_file(tmp_path / "other.en", "geneval", "es").findings
    assert_mentions(finding.message, "name", "geneval-sentences-feminine-test.en_es.en")


def test_the_entry_names_every_file_that_its_reader_needs() -> None:
    data = DATASETS["mt-geneval"]
    assert data.languages == ("ar", "de", "es", "fr", "hi", "it", "pt", "ru", "nl")
    assert all(len(source.files) == 3 for source in data.sources)
    assert {source.part for source in data.select(languages=["nl"])} == {"context"}


def test_the_catalogue_is_listed_without_readers() -> None:
    script = (
        "import sys; from tiltmeter.datasets.catalogue import DATASETS; list(DATASETS)\n"
        "print([name for name in sys.modules if name.startswith('tiltmeter.datasets.readers')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_released_counts(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    counts = {
        (source.language, source.part): len(source.validate().items)
        for source in DATASETS["mt-geneval"].select(languages=["es", "it"])
    }
    assert counts == {
        ("es", "sentences"): 300,
        ("es", "context"): 1096,
        ("it", "sentences"): 300,
        ("it", "context"): 1094,
    }
