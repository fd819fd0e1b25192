"""Chat templates are rendered as by transformers, with limits of memory and time."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.models.tiny_tokenizers import word_level
from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.models import chat_template
from tiltmeter.models.chat_template import ChatTemplate

MESSAGES = [{"role": "user", "content": "Tea or <b>milk</b>?\u2028 [MASK]"}]
CHATML = (
    "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] | trim }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% if not enable_thinking %}<think></think>{% endif %}{% endif %}"
)


def template(text: Any) -> ChatTemplate:
    tokenizer = SimpleNamespace(special_tokens_map={"bos_token": "<s>"}, get_chat_template=lambda: text)
    return ChatTemplate("tiny", tokenizer)


@pytest.fixture(scope="module")
def impatient() -> Iterator[None]:
    """Give templates half a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat_template, "SECONDS", 0.5)
        patch.setattr(chat_template, "_WORKER", chat_template._Worker())
        yield


@pytest.mark.parametrize("text", [CHATML, "{{ messages | tojson }}", "{% for m in messages %}{{ m }}{% endfor %}"])
def test_a_message_is_rendered_as_by_transformers(text: str) -> None:
    tokenizer = word_level(bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = text
    options = {"add_generation_prompt": True, "enable_thinking": False}
    expected = tokenizer.apply_chat_template(MESSAGES, tokenize=False, **options)
    assert ChatTemplate("tiny", tokenizer).render(MESSAGES, add_generation_prompt=True) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'x' * 10**10 }}",
        "{{ '%10000000000d' % 1 }}",
        "{{ ('x' * 10**6).replace('x', 'y' * 10**6) }}",
        "{{ [messages] * 10**10 }}",
        "{% for i in range(9999) %}{{ 'x' * 999 }}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    ],
)
@pytest.mark.usefixtures("impatient")
def test_limits(text: str) -> None:
    """Limits of memory, of the length of the text, and of time."""
    with raises_mentioning(ModelError, "chat template of tiny"):
        template(text).render(MESSAGES)
    assert template("{{ messages[0].role }}").render(MESSAGES) == "user"


def test_a_rendered_message_does_not_depend_on_the_day_or_on_chance() -> None:
    text = "{{ strftime_now('%d %b %Y') }} {{ date_string }} {{ [1, 2, 3, 4, 5, 6, 7, 8, 9] | random }} {{ lipsum() }}"
    once, again = (template(text).render(MESSAGES) for _ in range(2))
    assert once == again
    assert once.startswith("26 Jul 2024 26 Jul 2024")


@pytest.mark.parametrize(
    "text", [5, ["x"], {"default": "x"}, "{% if", "{{ '\\ud800' }}", "{{ raise_exception('no') }}"]
)
def test_templates_that_cannot_be_used(text: Any) -> None:
    with raises_mentioning(ModelError, "chat template of tiny"):
        template(text).render(MESSAGES)
