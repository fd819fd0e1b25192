"""The conformance check of chat models."""

import json
from collections.abc import Sequence

from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions
from tiltmeter.testing.requirement import build_requirement

_PROMPTS = (
    "Which word fits better? Answer with the letter.\nA. tea\nB. coffee",
    "Which word fits better? Answer with the letter.\nA. coffee\nB. tea",
    "Which sentence is more natural? Answer with the letter.\nA. It rained all day.\nB. It all rained day.",
)


def check_chat_model(model: ChatModel, other: ChatModel | None = None) -> None:
    """Check a chat model. `other` is a chat model with different replies, whose fingerprint must be different too.

    The checks: The model implements the protocol. Its fingerprint is stable and depends on the sampling settings. Every
    message has exactly one reply. At temperature 0, the reply to a message does not depend on whether the message is
    sent alone or with others. The model can be closed twice.
    """
    require = build_requirement(f"chat model {getattr(model, 'name', model)!r}")
    require(isinstance(model, ChatModel), "it does not implement tiltmeter.models.model_protocol.ChatModel")
    usual = SamplingOptions()
    require(model.chat_fingerprint(usual) == model.chat_fingerprint(usual), "its fingerprint is not stable")
    for sampling in (SamplingOptions(temperature=1.0), SamplingOptions(max_tokens=7)):
        differs = model.chat_fingerprint(sampling) != model.chat_fingerprint(usual)
        require(differs, f"its fingerprint does not depend on the settings {sampling}")
    if other is not None:
        differs = other.chat_fingerprint(usual) != model.chat_fingerprint(usual)
        require(differs, f"it has the same fingerprint as {other.name!r}")
    _check_description(model)
    together = _collect_replies(model, _PROMPTS)
    for prompt, reply in zip(_PROMPTS, together, strict=True):
        require(reply.text or reply.refused, f"its reply to {prompt!r} is empty")
        for count in (reply.tokens_in, reply.tokens_out):
            require(count is None or count >= 0, f"its reply to {prompt!r} has the token count {count}")
        (alone,) = _collect_replies(model, [prompt])
        same = alone.text == reply.text
        require(same, f"its reply to {prompt!r} is {alone.text!r} alone, but {reply.text!r} with other messages")
    require(not _collect_replies(model, []), "it replies although there is no message")
    model.close()
    model.close()


def _check_description(model: ChatModel) -> None:
    require = build_requirement(f"chat model {model.name!r}")
    try:
        described = json.loads(json.dumps(model.describe()))
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"chat model {model.name!r}: describe returns values that are not JSON ({error})"
        ) from error
    require(described.get("kind") == "chat", 'describe should have the entry "kind": "chat"')
    short, long = model.tokens(_PROMPTS[0]), model.tokens(_PROMPTS[0] * 10)
    require(0 < short < long, f"it counts {short} tokens in a message, but {long} in a message ten times as long")


def _collect_replies(model: ChatModel, prompts: Sequence[str]) -> list[Reply]:
    """Return the replies in the order of the prompts, and check that each prompt has exactly one reply."""
    require = build_requirement(f"chat model {model.name!r}")
    given = list(model.stream_replies([ChatQuestion(prompt, ("A", "B")) for prompt in prompts], SamplingOptions()))
    require(all(isinstance(reply, Reply) for _, reply in given), "its replies are not instances of Reply")
    indices = sorted(index for index, _ in given)
    require(indices == list(range(len(prompts))), f"it got {len(prompts)} messages, but replied to {indices}")
    return [reply for _, reply in sorted(given, key=lambda entry: entry[0])]
