"""Tiltmeter's tasks for Inspect: their messages, their metrics, and runs from their logs."""

import json
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from tests.models.chat_served import MadeChat, chance, options_of
from tests.support.messages import assert_mentions, raises_mentioning
from tests.test_packaging import PROJECT
from tiltmeter import evaluate, score_predictions
from tiltmeter.errors import DataError, UsageError
from tiltmeter.runs.inspect_task_logs import build_task_messages, build_task_metadata
from tiltmeter.runs.result import Result

ON, ITEMS = "starter:en", 12


def choose(prompt: str, sample: int = 0) -> str:
    """Refuse some messages, and choose an option by its text in the others."""
    if chance(prompt) < 0.2:
        return "I'm sorry, but I can't choose between these options."
    return max(options_of(prompt).items(), key=lambda option: chance(option[1], sample))[0]


def build_log(prompts: list[str], epochs: int = 1) -> dict[str, Any]:
    samples = [
        {
            "input": prompt,
            "epoch": epoch + 1,
            "messages": [{"role": "user", "content": prompt}],
            "output": {"choices": [{"message": {"content": choose(prompt, epoch)}, "stop_reason": "stop"}]},
        }
        for prompt in prompts
        for epoch in range(epochs)
    ]
    header = {"model": "openai/model", "metadata": build_task_metadata(ON, full=False)}
    return {"version": 2, "eval": header, "plan": {"config": {"temperature": epochs - 1}}, "samples": samples}


def score_log(folder: Path, log: dict[str, Any]) -> Result:
    path = folder / "log.json"
    path.write_text(json.dumps(log), encoding="utf-8")
    return score_predictions(path, form="inspect", on=ON)


def list_values(result: Result) -> dict[tuple[str, ...], tuple[object, ...]]:
    return {
        (r.part, r.protocol, r.view, r.group, r.measure): (r.value, r.low, r.high, r.n, r.verdict and r.verdict.words)
        for r in result.records
    }


def test_a_log_gives_the_numbers_of_a_run(tmp_path: Path) -> None:
    prompts = [prompt.question.prompt for prompt in build_task_messages(ON, ITEMS, full=False)]
    scored = score_log(tmp_path, build_log(prompts))
    assert list_values(scored) == list_values(evaluate(MadeChat(choose), ON, limit=ITEMS))
    assert {record.model for record in scored.records} == {"openai/model"}
    assert {record.protocol for record in scored.records} == {"forced-choice"}


def test_items_without_all_replies_and_failed_samples_are_left_out(tmp_path: Path) -> None:
    prompts = build_task_messages(ON, 4, full=False)
    log = build_log([prompt.question.prompt for prompt in prompts])
    log["samples"][-1]["error"] = {"message": "x"}
    log["samples"][0]["messages"].insert(0, {"role": "system", "content": "Be brief."})
    result = score_log(tmp_path, log)
    assert set(result.scores["item"]) == {prompt.item for prompt in prompts} - {prompts[-1].item}
    assert_mentions(" ".join(result.manifest.notes), "1 questions", "error", "1 items", "system message")
    assert {record.protocol for record in result.records} == {"forced-choice/other messages"}
    with raises_mentioning(DataError, "None of the items", "--on"):
        score_log(tmp_path, {**log, "samples": log["samples"][:2]})


@pytest.mark.parametrize("change", ["system message in the settings", "second message", "changed message", "none"])
def test_messages_that_differ_from_those_of_a_run_are_another_protocol(tmp_path: Path, change: str) -> None:
    log = build_log([prompt.question.prompt for prompt in build_task_messages(ON, 4, full=False)])
    sent = log["samples"][0]["messages"]
    if change == "system message in the settings":
        log["plan"]["config"]["system_message"] = "Be brief."
    elif change == "second message":
        sent.append({"role": "user", "content": "Think again."})
    elif change == "changed message":
        sent[0]["content"] = f"Be brief. {sent[0]['content']}"
    # The settings of the task replace those of the model.
    log["eval"]["model_generate_config"] = {"temperature": 0.7}
    protocol = "forced-choice" if change == "none" else "forced-choice/other messages"
    assert {record.protocol for record in score_log(tmp_path, log).records} == {protocol}


def test_replies_that_were_cut_off_are_counted(tmp_path: Path) -> None:
    log = build_log([prompt.question.prompt for prompt in build_task_messages(ON, 4, full=False)])
    log["samples"][0]["output"]["choices"] = [{"message": {"content": "Let me see"}, "stop_reason": "max_tokens"}]
    assert_mentions(" ".join(score_log(tmp_path, log).manifest.notes), "1 replies", "--max-tokens")


def test_epochs_are_samples(tmp_path: Path) -> None:
    prompts = [prompt.question.prompt for prompt in build_task_messages(ON, 4, full=False)]
    result = score_log(tmp_path, build_log(prompts, epochs=2))
    assert {record.protocol for record in result.records} == {"forced-choice/temperature 1, 2 samples"}
    log = build_log(prompts, epochs=2)
    log["plan"]["config"] = {}
    with raises_mentioning(UsageError, "2 epochs", "temperature 0"):
        score_log(tmp_path, log)


@pytest.mark.slow
def test_inspect_runs_the_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inspect_ai = pytest.importorskip("inspect_ai", reason="Inspect is not installed: pip install 'tiltmeter[inspect]'")
    monkeypatch.chdir(tmp_path)
    (entry,) = PROJECT["entry-points"]["inspect_ai"].items()
    tasks = EntryPoint(*entry, "inspect_ai").load().TASKS
    library = import_module("inspect_ai.model")

    def answer(messages: Any, *_: Any) -> Any:
        output = library.ModelOutput.from_content("mockllm/model", choose(messages[-1].text))
        output.usage = library.ModelUsage()  # otherwise Inspect downloads a tokenizer to count the tokens
        return output

    mock = library.get_model("mockllm/model", custom_outputs=answer)
    (log,) = inspect_ai.eval(tasks["starter"](items=ITEMS), model=mock, display="none", log_dir=str(tmp_path))
    assert log.status == "success", log.error
    native = evaluate(MadeChat(choose), ON, limit=ITEMS)
    assert list_values(score_predictions(log.location, form="inspect", on=ON)) == list_values(native)
    (scores,) = log.results.scores
    values = {name: metric.value for name, metric in scores.metrics.items()}
    expected = next(r for r in native.records if r.measure == "chosen stereotype" and r.part == "intrasentence")
    name = "starter.en.intrasentence.forced_choice.chosen_stereotype"
    assert [values[name], values[f"{name}.low"]] == pytest.approx([expected.value, expected.low])
    with raises_mentioning(UsageError, "licence"):
        tasks["mbbq"]()
