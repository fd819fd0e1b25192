"""Runs on multiple-choice questions: chat models with a known bias, refusals and unparseable replies."""

from pathlib import Path

import pytest

from tests.models.chat_served import MadeChat, Policy, chance, options_of, refusing
from tests.runs.chosen import questions_file
from tests.runs.test_chat import value
from tiltmeter import ChatOptions, compare, evaluate
from tiltmeter.reports.report_page import make_report
from tiltmeter.runs.result import Result


def answering(stereotype: float, other: float, seed: int = 0, *, spoiled: float = 0.0) -> Policy:
    """Return a policy that answers with the stereotype, the other person or unknown; some replies have no answer."""

    def policy(prompt: str, sample: int = 0) -> str:
        draw = chance(seed, prompt, sample)
        if chance("spoiled", seed, prompt, sample) < spoiled:
            return "I'm sorry, I cannot answer that." if draw < 0.5 else "Well, well."
        wanted = "towards" if draw < stereotype else "against" if draw < stereotype + other else "unclear"
        return next(label for label, text in options_of(prompt).items() if text.startswith(wanted))

    return policy


def asked(policy: Policy, on: str, name: str = "chat:made") -> Result:
    return evaluate(MadeChat(policy, name), on)


def test_a_known_bias_is_found_within_its_interval(tmp_path: Path) -> None:
    record = value(asked(answering(0.5, 0.2), questions_file(tmp_path, 160, part="ambiguous")), "BBQ bias")
    assert record.low is not None
    assert record.high is not None
    assert record.low < 30.0 < record.high
    assert record.verdict is not None
    assert (record.verdict.kind, record.verdict.side) == ("significant", "towards")
    swapped = questions_file(tmp_path, 160, part="ambiguous", swapped=True)
    opposite = value(asked(answering(0.5, 0.2), swapped, "chat:other"), "BBQ bias")
    assert opposite.verdict is not None
    assert opposite.verdict.side == "against"


def test_refusals_and_unreadable_replies_are_no_answers(tmp_path: Path) -> None:
    on = questions_file(tmp_path, 80, part="ambiguous")
    result = asked(answering(1.0, 0.0, spoiled=0.4), on)
    assert value(result, "BBQ bias").value == pytest.approx(100.0)  # every answer is the stereotype
    assert value(result, "unknown answers").value == pytest.approx(0.0)
    assert value(result, "answer accuracy").value == pytest.approx(0.0)
    assert value(result, "refusals").value == pytest.approx(20.0, abs=6.0)
    assert value(result, "unparseable answers").value == pytest.approx(20.0, abs=6.0)
    assert value(result, "coverage").value == pytest.approx(60.0, abs=8.0)


def test_a_model_that_only_refuses_has_no_bias_and_no_accuracy(tmp_path: Path) -> None:
    result = asked(refusing, questions_file(tmp_path, 40))
    assert not {record.measure for record in result.records} & {"BBQ bias", "unknown answers", "answer accuracy"}
    assert value(result, "refusals", part="ambiguous").value == 100.0
    assert any("chose no option" in note for note in result.manifest.notes)


def test_always_the_first_option_is_not_interpreted(tmp_path: Path) -> None:
    result = asked(lambda _prompt, _sample: "A", questions_file(tmp_path, 80))
    for part in ("ambiguous", "disambiguated"):
        record = value(result, "BBQ bias", part=part)
        assert record.value == pytest.approx(0.0, abs=1e-9)  # all orders are balanced
        assert record.verdict is not None
        assert record.verdict.kind == "not interpretable"


def test_the_message_and_the_full_design(tmp_path: Path) -> None:
    model = MadeChat(answering(0.4, 0.3))
    evaluate(model, questions_file(tmp_path, 4, "nl"))
    assert model.asked[0].startswith(
        "Beantwoord de vraag over deze tekst.\n\nTwo people met at stop 0.\n\nWho sang?\n\nA. "
    )
    assert len(model.asked) == 4 * 6  # six orders: every answer equally often in every place
    full = MadeChat(answering(0.4, 0.3))
    evaluate(full, questions_file(tmp_path, 4), chat=ChatOptions(full=True))
    assert not any("No preference" in prompt for prompt in full.asked)


def test_two_models_are_compared_and_reported(tmp_path: Path) -> None:
    on = questions_file(tmp_path, 160)
    folders = []
    for name, policy in (("chat:biased", answering(0.7, 0.1)), ("chat:even", answering(0.2, 0.2))):
        folders.append(tmp_path / name.removeprefix("chat:"))
        asked(policy, on, name).save(folders[-1])
    differences = {d.quantity.name: d for d in compare(folders).differences if d.part == "ambiguous"}
    assert differences["BBQ bias"].contrast.difference == pytest.approx(60.0, abs=10.0)
    assert differences["BBQ bias"].p_holm < 0.01
    html, _ = make_report([(folder.name, Result.load(folder)) for folder in folders])
    assert "BBQ bias" in html
    assert "unclear1" in html or "explorer" in html.lower()
