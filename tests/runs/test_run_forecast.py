"""The forecast of a run: numbers of questions, cost, time, and the bias that the items can show."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.measures.sample_size import SampleDesign
from tiltmeter.options import ChatOptions
from tiltmeter.runs.chat_budget import Budget
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.run_forecast import plan_run
from tiltmeter.runs.run_timings import load_timings
from tiltmeter.runs.time_estimates import ModelSize, estimate_model
from tiltmeter.runs.timing_store import Timing

ON = "starter/intrasentence:en"
CHAT = "chat:m@http://127.0.0.1:1/v1"
KNOWN = Timing("known", "causal", 1_000, "CPU", "pairs", "published", 100, 1_000, 9.0, 1_000, 100.0, 1.0, 10_000)


def test_questions_are_counted_before_and_after_a_run(causal: str) -> None:
    before = plan_run(causal, ON)
    (work,) = before.models
    assert before.seconds is None
    assert work.stored == 0
    result = evaluate(causal, ON, limit=10, batch_tokens=64)
    (timing,) = load_timings()
    after = plan_run(causal, ON).models[0]
    # The first batch includes loading, so the speed is that of the other batches.
    assert 0 < timing.asked < timing.questions == after.stored
    assert result.manifest.models[0].tokens == timing.tokens
    assert 0 < timing.tokens < (work.tokens or 0)
    assert (after.questions or 0) + (after.stored or 0) == work.questions
    assert after.time.seconds is not None
    assert "1 similar run" in after.time.basis


def test_longer_questions_take_more_time() -> None:
    def seconds(tokens: int | None) -> float:
        found = estimate_model("known", ModelSize(), "pairs", "published", 100, [KNOWN], tokens=tokens)
        assert found.seconds is not None
        return found.seconds

    assert seconds(None) == seconds(10_000) == pytest.approx(10 + 100)
    assert seconds(30_000) == pytest.approx(10 + 300)


def test_only_the_newest_runs_are_used() -> None:
    slow = replace(KNOWN, asking_seconds=1_000.0)
    found = estimate_model("known", ModelSize(), "pairs", "published", 100, [*[KNOWN] * 5, slow])
    assert found.seconds == pytest.approx(110)
    assert found.high == pytest.approx(110 * 1.4)


def test_the_sample_size_is_that_of_a_plan(causal: str) -> None:
    (all_items,) = plan_run(causal, ON, effect=10).power
    assert (all_items.items, all_items.available, all_items.measure) == (40, 40, "SS")
    assert all_items.needed == SampleDesign().find_items(10)
    assert all_items.detectable == SampleDesign().find_effect(40)
    assert (all_items.needed_correlated or 0) > all_items.needed
    (sample,) = plan_run(causal, ON, effect=10, limit=30).power
    assert sample.needed == SampleDesign(tests=2).find_items(10)
    assert plan_run(causal, "starter-gest").power == ()


def test_unknown_settings_are_rejected(causal: str) -> None:
    with raises_mentioning(UsageError, "limits", "evaluate"):
        plan_run(causal, ON, limits=3)


def test_the_cost_of_a_chat_run_needs_consent_above_a_limit() -> None:
    cheap = ChatOptions(price_in=1.0, price_out=1.0, currency="EUR")
    plan = plan_run(CHAT, ON, chat=cheap)
    assert plan.cost is not None
    assert (plan.currency, plan.needs_consent) == ("EUR", False)
    dear = replace(cheap, price_out=10_000.0)
    assert plan_run(CHAT, ON, chat=dear).needs_consent
    assert not plan_run(CHAT, ON, chat=replace(dear, max_cost=1_000.0)).needs_consent
    assert not plan_run(CHAT, ON, chat=replace(dear, accept_cost=True)).needs_consent
    with raises_mentioning(UsageError, "EUR", "--yes", "--max-cost 5", "default"):
        Budget(1, 1, 1, 6.0, "EUR").reject_exceeded_limits(dear)
    Budget(1, 1, 1, 6.0, "EUR").reject_exceeded_limits(replace(dear, accept_cost=True))


def test_the_terminal_prints_the_forecast(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    prices = ("--price-in", "2", "--price-out", "4000")
    words = ("run", CHAT, "--on", ON, "--dry-run", "--effect", "10", "--out", str(tmp_path / "run"), *prices)
    assert command(monkeypatch, *words) == 0
    out = capsys.readouterr().out
    assert_mentions(out, "Dry run", "requests", "tokens", "USD", "--yes", "10 points", "time unknown")
    assert not (tmp_path / "run").exists()
    assert command(monkeypatch, *words, "--json") == 0
    read = json.loads(capsys.readouterr().out)
    assert (read["items"], read["needs_consent"]) == (40, True)
    assert command(monkeypatch, "run", "--on", ON, "--effect", "10") == 2
    assert_mentions(capsys.readouterr().err, "--effect", "--dry-run")
    # Without --yes, the run is rejected before a request is sent.
    assert command(monkeypatch, "run", CHAT, "--on", ON, *prices) == 2
    assert_mentions(capsys.readouterr().err, "--yes", "Nothing was sent")
