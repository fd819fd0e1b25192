import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tests.support.messages import raises_mentioning
from tiltmeter.cli.gender_detect import gender
from tiltmeter.errors import DataError, UsageError

app = typer.Typer()
app.command()(gender)

SENTENCES = "Bola som doma.\nSom dobrý kuchár.\n\nRád čítam.\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text(SENTENCES, encoding="utf-8")
    return path


def run(*arguments: str, standard_input: str | bytes | None = None) -> str:
    result = CliRunner().invoke(app, list(arguments), input=standard_input, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_one_line_a_sentence(file: Path) -> None:
    output = run("--language", "sk", str(file))
    assert output == "feminine\tBola som doma.\nnone\tSom dobrý kuchár.\nnone\t\nmasculine\tRád čítam.\n"


def test_explain(file: Path) -> None:
    lines = run("--language", "sk", "--explain", str(file)).splitlines()
    assert lines[0] == "feminine\tbola som\tparticiple\tBola som doma."
    assert lines[1] == "none\t\t\tSom dobrý kuchár."


def test_json(file: Path) -> None:
    first, second, *_ = map(json.loads, run("-l", "sk", "--json", "--explain", str(file)).splitlines())
    assert first == {"text": "Bola som doma.", "gender": "feminine", "cue": ["bola", "som"], "rule": "participle"}
    assert second["gender"] is None


def test_standard_input_with_a_byte_order_mark() -> None:
    assert run("--language", "sk", "-", standard_input="\ufeffBola som doma.\r\n") == "feminine\tBola som doma.\n"


def test_conllu_needs_no_language(tmp_path: Path) -> None:
    path = tmp_path / "parsed.conllu"
    path.write_text(
        "# text = Bola som.\n"
        "1\tBola\tbyť\tVERB\t_\tGender=Fem|Number=Sing\t0\troot\t_\t_\n"
        "2\tsom\tbyť\tAUX\t_\tNumber=Sing|Person=1\t1\taux\t_\t_\n",
        encoding="utf-8",
    )
    assert run("--gender-from", "conllu", str(path)) == "feminine\tBola som.\n"


def test_bad_bytes_name_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"Bola som doma.\n" + "Bývam v Žiline.\n".encode("cp1250"))
    with raises_mentioning(DataError, "latin.txt, line 2", "UTF-8"):
        run("--language", "sk", str(path))


@pytest.mark.parametrize(
    ("arguments", "error", "part"),
    [
        (["--language", "de", "FILE"], UsageError, "'de'"),
        (["FILE"], UsageError, "--language"),
        (["--language", "sk", "--gender-from", "tea-leaves", "FILE"], UsageError, "rules, stanza, conllu"),
        (["--language", "sk", "missing.txt"], DataError, "missing.txt"),
    ],
)
def test_invalid_requests(arguments: list[str], error: type[Exception], part: str, file: Path) -> None:
    with raises_mentioning(error, part):
        run(*(str(file) if argument == "FILE" else argument for argument in arguments))
