"""`tiltmeter gender` refuses tables and JSON, whose rows it would otherwise read as sentences."""

from pathlib import Path

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions

PLAIN = "Bol som doma.\nBola som doma, v meste.\n"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("pairs.csv", "Bol som doma.\n", "a table"),
        ("pairs.txt", "from,to\nI was home.,Bol som doma.\n", "a table"),
        ("pairs.txt", '\ufeff"from";"to"\nI was home.;Bol som doma.\n', "a table"),
        ("pairs.txt", "id\ttext\n1\tBol som doma.\n", "a table"),
        ("items.txt", '{"text": "Bol som doma."}\n', "JSON"),
    ],
)
@pytest.mark.parametrize("words", [("sample", "--out", "sample"), ("detect",)])
def test_tables_and_json_are_refused(
    name: str,
    content: str,
    kind: str,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert command(monkeypatch, "gender", words[0], name, "--language", "sk", *words[1:]) == 2
    assert_mentions(capsys.readouterr().err, f"{name} is {kind}", "one sentence per line", "--pairs")
    assert not (tmp_path / "sample").exists()


def test_sentences_with_commas_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain.txt").write_text(PLAIN, encoding="utf-8")
    assert command(monkeypatch, "gender", "detect", str(tmp_path / "plain.txt"), "--language", "sk") == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == ["masculine", "feminine"]


def test_a_sample_of_english_sentences_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("py3langid", reason="py3langid is not installed: pip install 'tiltmeter[train]'")
    english = "I was at home with my old mother.\nShe told me that the garden was green.\n"
    (tmp_path / "english.txt").write_text(english, encoding="utf-8")
    words = ("gender", "sample", str(tmp_path / "english.txt"), "--language", "sk", "--out", str(tmp_path / "sample"))
    assert command(monkeypatch, *words) == 2
    assert_mentions(capsys.readouterr().err, "2 of 2 sentences are English", "I was at home", "'sk'", "--language")
    assert not (tmp_path / "sample").exists()
