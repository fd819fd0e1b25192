"""`tiltmeter train pairs`: its output, and messages and exit code 2 for bad articles."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions
from tests.training.made_articles import made, write_html, write_jsonl


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = command(monkeypatch, "train", "pairs", *words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_pairs_of_two_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = []
    for language in ("en", "de"):
        options += ["--articles", f"{language}={write_html(tmp_path / language, made(language, 30))}"]
    out = tmp_path / "new/pairs"
    code, table, notes = run(monkeypatch, capsys, *options, "--held-out", "0.3", "--out", str(out))
    assert code == 0, notes
    rows = {line.strip().rsplit(None, 2)[0]: line.split()[-2:] for line in table.splitlines()[1:]}
    counts = json.loads((out / "summary.json").read_text())["languages"]
    assert rows["articles"] == ["30", "30"]
    assert rows["sentences"] == ["180", "180"]
    assert rows["training pairs"] == [str(counts[language]["train_pairs"]) for language in ("de", "en")]
    assert rows["held-out pairs"] == [str(counts[language]["held_out_pairs"]) for language in ("de", "en")]
    assert f"Written to {out}" in notes


def _one_sentence(folder: Path) -> list[str]:
    return [f"en={write_html(folder / 'en', {'a': ['There is one sentence in this article.']})}"]


def _empty(folder: Path) -> list[str]:
    return [f"en={write_html(folder / 'en', {str(number): [] for number in range(20)})}"]


def _short(folder: Path) -> list[str]:
    return [f"en={write_html(folder / 'en', {str(number): ['Yes.', 'No.'] for number in range(20)})}"]


def _one_article(folder: Path) -> list[str]:
    return [f"en={write_html(folder / 'en', made('en', 1, sentences=30))}"]


def _recurring(folder: Path) -> list[str]:
    return [f"en={write_html(folder / 'en', dict.fromkeys('abcdefghij', made('en', 1)['page-000']))}"]


def _one_language_missing(folder: Path) -> list[str]:
    return [f"en={write_html(folder / 'en', made('en', 30))}", f"de={folder / 'de'}"]


def _one_language_empty(folder: Path) -> list[str]:
    (folder / "de").mkdir()
    return [f"en={write_html(folder / 'en', made('en', 30))}", f"de={folder / 'de'}"]


def _one_language_untranslated(folder: Path) -> list[str]:
    english = made("en", 30)
    return [f"en={write_html(folder / 'en', english)}", f"de={write_html(folder / 'de', english)}"]


def _same_id(folder: Path) -> list[str]:
    rows = [{"id": "a", "text": "One sentence of the article."}, {"id": "a", "text": "Another one of the article."}]
    return [f"en={write_jsonl(folder / 'a.jsonl', rows)}"]


def _no_text(folder: Path) -> list[str]:
    return [f"en={write_jsonl(folder / 'a.jsonl', [{'id': 'a', 'body': 'One sentence.'}])}"]


def _binary(folder: Path) -> list[str]:
    path = write_html(folder / "en", made("en", 30)) / "page-007.html"
    path.write_bytes(b"\x89PNG\0\0")
    return [f"en={path.parent}"]


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (_one_sentence, ["training pairs in en", "1 articles", "1 sentences of 4"]),
        (_empty, ["training pairs in en", "20 articles", "0 sentences"]),
        (_short, ["training pairs in en", "20 articles", "0 sentences"]),
        (_one_article, ["pairs in en", "1 articles"]),
        (_recurring, ["training pairs in en", "10 articles", "only once"]),
        (_one_language_missing, ["de does not exist"]),
        (_one_language_empty, ["de has no files"]),
        (_one_language_untranslated, ["training pairs in de"]),
        (_same_id, ["a.jsonl, row 2", "id 'a'", "in en"]),
        (_no_text, ["a.jsonl, row 1", "`text`"]),
        (_binary, ["page-007.html is not text"]),
    ],
)
def test_bad_articles(
    make: Callable[[Path], list[str]],
    parts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [word for source in make(tmp_path) for word in ("--articles", source)]
    before = sorted(tmp_path.rglob("*"))
    code, output, error = run(monkeypatch, capsys, *options, "--held-out", "0.3", "--out", str(tmp_path / "pairs"))
    assert code == 2
    assert output == ""
    (line,) = error.splitlines()
    assert line.startswith("tiltmeter: ")
    assert_mentions(line, *parts)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--held-out", "0"], "--held-out 0.0"),
        (["--held-out", "1"], "--held-out 1.0"),
        (["--parts", "half"], "--parts half"),
    ],
)
def test_bad_options(
    words: list[str],
    part: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = f"en={write_html(tmp_path / 'en', made('en', 30))}"
    code, _, error = run(monkeypatch, capsys, "--articles", source, "--out", str(tmp_path / "pairs"), *words)
    assert code == 2
    assert_mentions(error, part)
