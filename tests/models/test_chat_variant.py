"""Variants of chat models: system prompts and thinking, of local models and behind servers."""

import json
import shutil
from pathlib import Path

import pytest

from tests.models.chat_served import ChatServer, biased, chat_serving
from tests.models.test_chat_local import instruct
from tests.models.test_chat_providers import MessagesServer, messages_serving
from tests.runs.chosen import pairs_file
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import ModelError, TiltmeterError, UsageError
from tiltmeter.models.chat import open_chat
from tiltmeter.models.chat_local import LocalChat
from tiltmeter.models.chat_variant import split_thinking
from tiltmeter.models.model_opener import open_given_model
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.options import ChatOptions, ModelOptions
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions
from tiltmeter.runs.evaluate import evaluate

__all__ = ["instruct"]  # the fixture

TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<a>{% if enable_thinking %}<think>{% endif %}{% endif %}"
)
QUESTION = ChatQuestion("Which one?\n\nA. tea\nB. milk", ("A", "B"))
FAIR = "Treat all people equally."


@pytest.fixture(scope="module")
def thinking(instruct: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a model whose template has system prompts and thinking."""
    folder = shutil.copytree(instruct, tmp_path_factory.mktemp("models") / "thinking")
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    return str(folder)


def opened(folder: str, **options: str) -> LocalChat:
    model = open_chat(folder, ModelOptions(device="cpu", **options))  # type: ignore[arg-type]
    assert isinstance(model, LocalChat)
    return model


def test_a_variant_has_its_own_name_fingerprint_and_messages(thinking: str) -> None:
    models = [
        opened(thinking),
        opened(thinking, system_prompt=FAIR),
        opened(thinking, system_prompt=f"{FAIR} Always."),
        opened(thinking, thinking="on"),
        opened(thinking, thinking="off"),
        opened(thinking, thinking="on", system_prompt=FAIR),
    ]
    assert len({model.name for model in models}) == len(models)
    assert len({model.chat_fingerprint(SamplingOptions()) for model in models}) == len(models)
    texts = [model.model.tokenizer.decode(model._encode_prompt("A?")) for model in models]
    assert texts[0] == texts[4] == "<user>A?<a>"
    assert texts[1] == f"<system>{FAIR}<user>A?<a>"
    assert texts[5] == f"<system>{FAIR}<user>A?<a><think>"
    assert models[1].tokens("A?") > models[0].tokens("A?")
    assert models[5].describe()["system_prompt"] == FAIR
    assert (models[5].describe()["thinking"], models[4].describe()["thinking"]) == (True, False)
    assert not {"system_prompt", "thinking"} & set(models[0].describe())


def test_a_template_that_ignores_the_variant_is_an_error(instruct: str, thinking: str) -> None:
    with raises_mentioning(ModelError, "--thinking", "ignores"):
        opened(instruct, thinking="on")
    with raises_mentioning(ModelError, "--thinking"):
        list(opened(thinking, thinking="on").stream_replies([QUESTION], SamplingOptions(probabilities=True)))
    with chat_serving(server := ChatServer(biased(0.5))) as name, raises_mentioning(ModelError, "--thinking"):
        served = open_given_model(name, ModelOptions(thinking="on"))
        list(served.stream_replies([QUESTION], SamplingOptions(probabilities=True)))  # type: ignore[union-attr]
    assert not server.bodies


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", ("", "B")),
        (" B\n", ("", " B\n")),
        ("<think>\nA or B?\n</think>\n\nB", ("A or B?", "B")),
        ("A or B?</think>B", ("A or B?", "B")),
        ("<think></think>B", ("", "B")),
        ("<think>A or", ("A or", "")),
        ("<think>x</think>A<think>y</think>B", ("x</think>A<think>y", "B")),
    ],
)
def test_thinking_is_separated_from_the_answer(text: str, expected: tuple[str, str]) -> None:
    assert split_thinking(text) == expected


def test_replies_of_a_variant_are_stored_separately(thinking: str, tmp_path: Path) -> None:
    on = str(pairs_file(tmp_path, 2))

    def asked(**options: str) -> tuple[int, str]:
        result = evaluate(f"chat:{thinking}", on, device="cpu", chat=ChatOptions(max_tokens=4), **options)  # type: ignore[arg-type]
        return result.manifest.models[0].details["asked"], result.manifest.models[0].name

    plain, fair = asked(), asked(system_prompt=FAIR)
    assert plain[0] == fair[0] > 0
    assert fair[1].startswith(f"{plain[1]}[system ")
    assert asked(system_prompt=FAIR)[0] == asked()[0] == 0


def ask(name: str, sampling: SamplingOptions = SamplingOptions(), **options: str) -> Reply:  # noqa: B008
    model = open_given_model(name, ModelOptions(**options))  # type: ignore[arg-type]
    assert isinstance(model, ChatModel)
    ((_, reply),) = model.stream_replies([QUESTION], sampling)
    return reply


def test_requests_to_servers() -> None:
    server = ChatServer(lambda _prompt, _sample: "<think>Tea?</think>A")
    with chat_serving(server) as name:
        reply = ask(name, system_prompt=FAIR, thinking="on")
        ask(name, thinking="off")
        ask(name)
    assert (reply.text, reply.thinking) == ("A", "Tea?")
    first, second, third = server.bodies
    assert first["messages"][0] == {"role": "system", "content": FAIR}
    assert first["chat_template_kwargs"] == {"enable_thinking": True}
    assert second["chat_template_kwargs"] == {"enable_thinking": False}
    assert len(third["messages"]) == 1
    assert "chat_template_kwargs" not in third


def test_a_server_without_templates_gets_reasoning_effort() -> None:
    server = ChatServer(lambda _prompt, _sample: "A")
    server.refuses = {"chat_template_kwargs": "Unrecognized request argument supplied: chat_template_kwargs"}
    with chat_serving(server) as name:
        ask(name, thinking="off")
        assert server.bodies[-1]["reasoning_effort"] == "none"
        server.refuses["reasoning_effort"] = "reasoning_effort is not supported"
        with raises_mentioning(ModelError, "reasoning_effort"):
            ask(name, thinking="on")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_thinking_that_the_server_returns_apart(key: str) -> None:
    server = ChatServer(lambda _prompt, _sample: "A")
    server.reply = {"choices": [{"message": {"content": "B", key: "Milk."}, "finish_reason": "stop"}]}
    with chat_serving(server) as name:
        reply = ask(name)
    assert (reply.text, reply.thinking) == ("B", "Milk.")


def test_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-key-of-nobody")
    server = MessagesServer(lambda _prompt, _sample: "A")
    with messages_serving(server) as name:
        reply = ask(name, SamplingOptions(temperature=1.0, max_tokens=64), system_prompt=FAIR, thinking="on")
        with raises_mentioning(ModelError, "--temperature 1"):
            ask(name, thinking="on")
    (body,) = server.bodies
    assert (reply.text, reply.thinking) == ("A", "Hm.")
    assert (body["system"], body["messages"][0]["role"]) == (FAIR, "user")
    assert body["max_tokens"] == body["thinking"]["budget_tokens"] + 64


def test_only_chat_models_have_variants(thinking: str) -> None:
    for options in ({"system_prompt": FAIR}, {"thinking": "on"}):
        with raises_mentioning(UsageError, "chat models", "omit it"):
            open_given_model(thinking, ModelOptions(device="cpu", **options))  # type: ignore[arg-type]


def test_the_command_reads_the_system_prompt_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, on = tmp_path / "system.txt", str(pairs_file(tmp_path, 8))
    file.write_text(f"{FAIR}\n", encoding="utf-8")
    server = ChatServer(biased(0.7))
    server.policy = lambda prompt, sample: f"<think>Well.</think>{biased(0.7)(prompt, sample)}"
    with chat_serving(server) as name:
        words = ["run", name, "--on", on, "--out", str(tmp_path / "run"), "--thinking", "on"]
        assert command(monkeypatch, *words, "--system-prompt", str(file)) == 0, capsys.readouterr().err
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["request"]["system_prompt"] == FAIR
    assert (manifest["models"][0]["system_prompt"], manifest["models"][0]["thinking"]) == (FAIR, True)
    from tiltmeter.runs.result import Result

    answers = Result.load(tmp_path / "run").answers
    assert answers is not None
    assert set(answers["thinking"]) == {"Well."}
    for content, part in (("  \n", "no text"), (None, "none.txt")):
        if content is not None:
            file.write_text(content, encoding="utf-8")
        path = str(file) if content is not None else str(tmp_path / "none.txt")
        assert command(monkeypatch, "run", "chat:x@http://127.0.0.1:1/v1", "--system-prompt", path) == 2
        assert_mentions(capsys.readouterr().err, part)
    assert issubclass(ModelError, TiltmeterError)
