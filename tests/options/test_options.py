"""Options are defined once; command line, plan files, the studio and `evaluate` are derived from them."""

import inspect
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import tiltmeter
from tests.support.messages import raises_mentioning
from tiltmeter.cli.option_parameters import add_option_parameters
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.errors import UsageError
from tiltmeter.options import ChatOptions, ModelOptions, RunSettings, build_options, list_options
from tiltmeter.options.option_field import define_option
from tiltmeter.options.option_values import COUNT, DEVICES, FLAG, MARGINS, SIZES, TEXT
from tiltmeter.studio.run_request import RunRequest

# Fields that have no keyword in `evaluate`.
INTERNAL = {"cache", "keep_heads"}
# Keywords of `evaluate` whose default differs from the default of the field.
OTHER_DEFAULTS = {"margins": None}


def test_evaluate_has_a_keyword_with_the_same_default_for_each_field() -> None:
    keywords = inspect.signature(tiltmeter.evaluate).parameters
    for field in (*fields(ModelOptions), *fields(RunSettings)):
        if field.name not in INTERNAL:
            expected = OTHER_DEFAULTS.get(field.name, field.default)
            assert keywords[field.name].default == expected, field.name


@dataclass(frozen=True, kw_only=True)
class Colours:
    hue: str = define_option("red", "The hue.", TEXT, choices=lambda: ("red", "blue"))
    many: int = define_option(3, "How many.", COUNT)
    bright: bool = define_option(False, "Brightness.", FLAG)
    margins: dict[str, float] = define_option({}, "Margins.", MARGINS, name="margin")
    devices: tuple[str, ...] = define_option((), "Devices.", DEVICES)
    sizes: dict[str, str] | None = define_option(None, "Sizes.", SIZES, name="max_sizes")
    internal: int = 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Colours()),
        (["--hue", "blue", "--many", "4", "--bright"], Colours(hue="blue", many=4, bright=True)),
        (["--margin", "SS=3", "--margin", "ICAT=2"], Colours(margins={"SS": 3.0, "ICAT": 2.0})),
        (["--devices", "0,cpu", "--max-sizes", "cpu=1GiB"], Colours(devices=("cuda:0", "cpu"), sizes={"cpu": "1GiB"})),
    ],
)
def test_a_command_gets_an_object_of_the_options_class(words: list[str], expected: Colours) -> None:
    found: list[tuple[str, Colours]] = []

    @add_option_parameters
    def paint(name: str, colours: Colours) -> None:
        """Paint."""
        found.append((name, colours))

    app = typer.Typer()
    app.command()(paint)
    result = CliRunner().invoke(app, [*words, "wall"])
    assert result.exception is None, result.output
    assert found == [("wall", expected)]


def test_a_value_that_is_no_choice_is_an_error_with_the_choices() -> None:
    (hue, *_) = list_options(Colours)
    with raises_mentioning(UsageError, "--hue green", "red, blue"):
        hue.parse("green")


def test_every_option_of_models_is_a_key_of_plans(tmp_path: Path) -> None:
    values = {"TEXT": '"x"', "FLAG": "true", "COUNT": "2", "LIST": '["year=1950"]'}
    lines = ['benchmarks = ["starter"]', "[[models]]", 'name = "embedded"']
    for one in list_options(ModelOptions, ChatOptions):
        kind = {str: "TEXT", bool: "FLAG", int: "COUNT", float: "COUNT", list[str]: "LIST"}[one.kind.type]
        value = f'"{one.choices()[0]}"' if one.choices is not None else values[kind]
        if one.in_plan:
            lines.append(f"{one.name} = {{ cpu = {value} }}" if one.kind is SIZES else f"{one.name} = {value}")
    path = tmp_path / "plan.toml"
    path.write_text("\n".join(lines))
    (model,) = read_plan(path).models
    assert len(model.options) + len(model.chat) == len(lines) - 3
    chat = model.build_chat_options()
    assert chat is not None
    assert chat.full
    assert model.build_model_options(tmp_path).per_minute == 2


def test_every_option_with_a_label_is_in_the_request_of_the_studio() -> None:
    labelled = {one.field for one in list_options(RunSettings, ModelOptions, ChatOptions) if one.studio}
    assert labelled == {field.name for field in fields(RunRequest)} - {"name", "models", "on", "protocol"}
    request = RunRequest(name="a", models=("chat:embedded",), on=("starter",), limit=3, price_in=1.0, price_out=2.0)
    chat = request.build_settings().chat
    assert chat is not None
    assert (request.build_settings().limit, chat.price_out) == (3, 2.0)


def test_values_without_a_field_are_ignored() -> None:
    assert build_options(ChatOptions, {"samples": 2, "colour": "red"}, full=True) == ChatOptions(samples=2, full=True)
