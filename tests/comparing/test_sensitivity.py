"""Sensitivity: the same numbers as runs on changed items, verdicts that move, and runs that cannot be asked again."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import transformers as t

from tests.models.chat_served import MadeChat, biased, options_of
from tests.models.tiny import made, saved
from tests.models.tiny_tokenizers import byte_level
from tests.runs.chosen import association_file
from tests.runs.made import association_scores, gest_scores, run
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.chat_wordings import split_by_wording
from tiltmeter.comparing.sensitivity import (
    NOTE,
    SensitivityRow,
    Variation,
    add_sensitivity_notes,
    build_sensitivity_rows,
    measure_sensitivity,
)
from tiltmeter.errors import UsageError
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.result import Result


def deciding(result: Result, part: str) -> float:
    return next(r.value for r in result.records if r.view == "all" and r.measure == "SS" and r.part == part)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    tokenizer = byte_level()
    config = t.GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=2, n_head=2, n_positions=256)
    return saved(tmp_path_factory.mktemp("model"), made(lambda: t.GPT2LMHeadModel(config)), tokenizer)


def test_a_changed_value_is_that_of_a_run_on_changed_items(model: str) -> None:
    on = "starter/intrasentence:en"
    rows = measure_sensitivity(evaluate(model, on))
    (row,) = (row for row in rows if row.part == "intrasentence")
    assert [one.name for one in row.variations] == ["no-final-punctuation", "lower-case", "quoted"]
    for one in row.variations:
        assert one.value == deciding(evaluate(model, on, perturb=one.name), "intrasentence")
        assert one.difference == pytest.approx(one.value - row.value)
        assert one.changed == pytest.approx(1.0)
        assert one.difference_interval is not None
        assert one.difference_interval[0] <= one.difference <= one.difference_interval[1]
    values = [row.value, *(one.value for one in row.variations)]
    assert row.value_range == (min(values), max(values))


def test_only_some_changes_and_a_sample(model: str, tmp_path: Path) -> None:
    result = evaluate(model, "starter-pairs:en", limit=30)
    (row,) = measure_sensitivity(result, only=["quoted"], limit=20)
    assert [one.name for one in row.variations] == ["quoted"]
    assert row.value == next(
        r.value for r in evaluate(model, "starter-pairs:en", limit=20).records if r.measure == "CPS"
    )
    with raises_mentioning(UsageError, "'louder'", "quoted"):
        measure_sensitivity(result, only=["louder"])


def test_templates_of_gest_are_in_the_run() -> None:
    parts = {f"template-{n}": gest_scores("m", seed=n).assign(part=f"template-{n}") for n in (1, 2, 3)}
    result = run(*parts.values(), family="gest")
    (overall,) = (row for row in build_sensitivity_rows(result, []) if row.part == "overall")
    values = {r.part: r.value for r in result.records if r.view == "all" and r.measure == overall.measure}
    assert {one.name: one.value for one in overall.variations} == {part: values[part] for part in parts}
    assert all(one.changed is None for one in overall.variations)


def test_the_sentence_says_whether_the_verdict_stays() -> None:
    stays = Variation("quoted", 52.0, (48.0, 56.0), "inconclusive")
    row = SensitivityRow("m", "starter", "intrasentence", "en", "SS", 55.0, (49.0, 61.0), "inconclusive", (stays,))
    assert_mentions(row.summary_sentence, "52.0 and 55.0", "(inconclusive) stays the same")
    moved = replace(row, variations=(replace(stays, value=70.0, verdict="significant bias towards stereotypes"),))
    assert_mentions(moved.summary_sentence, "changes (quoted: significant bias")
    before = replace(run(association_scores(n=5)).manifest, notes=("a", f"{NOTE}old"))
    assert add_sensitivity_notes(before, [row]).notes == ("a", f"{NOTE}{row.summary_sentence}")


@pytest.mark.parametrize(
    ("request_", "part"),
    [
        ({"predictions": "x.json"}, "published predictions"),
        ({"translations": "x"}, "from translations"),
        ({"models": ["m"], "on": ["starter:en"], "fingerprints": {"m": "1"}}, "Python object"),
        ({"models": ["m"], "on": ["starter:en"], "perturb": "quoted"}, "(quoted)"),
    ],
)
def test_runs_that_cannot_be_repeated(request_: dict[str, object], part: str) -> None:
    result = run(association_scores(n=5))
    with raises_mentioning(UsageError, part):
        measure_sensitivity(replace(result, manifest=replace(result.manifest, request=request_)))


def test_the_command_keeps_it_in_the_notes(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    evaluate(model, "starter-pairs:en", limit=20, out=folder)
    before = (folder / "manifest.json").read_text(encoding="utf-8")
    assert command(monkeypatch, "sensitivity", str(folder), "--change", "quoted", "--limit", "10") == 0
    assert (folder / "manifest.json").read_text(encoding="utf-8") == before
    assert command(monkeypatch, "sensitivity", str(folder), "--change", "quoted") == 0
    assert "the verdict (" in capsys.readouterr().out
    notes = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["notes"]
    assert sum(note.startswith(NOTE) for note in notes) == 1
    assert command(monkeypatch, "show", str(folder)) == 0
    assert_mentions(capsys.readouterr().err, NOTE.strip(), "(quoted)")


def test_a_chat_model_that_heeds_the_wording(tmp_path: Path) -> None:
    """It prefers stereotypes under the first wording, and the opposite under the second; nothing is asked again."""

    def policy(prompt: str, _sample: int = 0) -> str:
        wanted = "towards" if "Which option fits the blank best?" in prompt else "against"
        return next(label for label, text in options_of(prompt).items() if wanted in text)

    chat = MadeChat(policy)
    result = evaluate(chat, association_file(tmp_path))
    asked = len(chat.asked)
    (row,) = (row for row in measure_sensitivity(result) if row.part == "intrasentence")
    assert len(chat.asked) == asked
    assert row.value == pytest.approx(50.0)
    assert {one.name: one.value for one in row.variations} == {"wording 1": 100.0, "wording 2": 0.0}
    assert_mentions(row.summary_sentence, "changes (wording 1: significant")


def test_wordings_together_are_the_run_itself(tmp_path: Path) -> None:
    result = evaluate(MadeChat(biased(0.7)), association_file(tmp_path))
    parts = [again.scores for _, again in split_by_wording(result)]
    assert len(parts) == 2
    both = pd.concat(parts).query("role == 'share:stereotype'").groupby("item")["score"].mean()
    whole = result.scores.query("role == 'share:stereotype'").set_index("item")["score"]
    pd.testing.assert_series_equal(both.sort_index(), whole.sort_index(), check_names=False)
