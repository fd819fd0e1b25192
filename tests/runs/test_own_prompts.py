"""Own prompts: made chat models that treat two groups differently, from two tables to the verdict."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests.models.chat_served import MadeChat, chance
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter import ChatOptions, compare, evaluate
from tiltmeter.benchmarks import reply_scorers
from tiltmeter.benchmarks.reply_readings import is_text_refusal, read_reply
from tiltmeter.benchmarks.reply_scorers import ReplyScorer
from tiltmeter.datasets.dataset_loader import load_spec
from tiltmeter.datasets.dataset_spec import parse_spec
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.forms.own_prompts import OwnPromptItem
from tiltmeter.measures.records import Record
from tiltmeter.registry import identify_component
from tiltmeter.runs.manifest import Components
from tiltmeter.runs.measurement import describe_packages
from tiltmeter.runs.portions import load_portions
from tiltmeter.runs.result import Result
from tiltmeter.runs.typed_json import from_json, to_json

# The name of a model identifies it in the store of replies.
NUMBERS = count()
GROUPS = [["cooks", "nurses"], *([f"the cook number {n}", f"the nurse number {n}"] for n in range(6))]


def write(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def tables(folder: Path, columns: Sequence[Sequence[str]], groups: Sequence[Sequence[str]] = GROUPS) -> str:
    write(folder / "prompts.groups.csv", groups)
    return f"{write(folder / 'prompts.csv', columns)}:en"


def measured(folder: Path, policy: object, *, gender: bool = False, samples: int = 4, **options: str) -> Result:
    header = ["id", "prompt", *options, *(["gender"] if gender else [])]
    rows = [
        [f"p{n}", f"Question {n} about {{group}}?", *options.values(), *(["yes"] if gender else [])] for n in range(8)
    ]
    model = MadeChat(policy, f"chat:made-{next(NUMBERS)}")  # type: ignore[arg-type]
    return evaluate(model, tables(folder, [header, *rows]), chat=ChatOptions(samples=samples))


def find(result: Result, measure: str, view: str = "all") -> Record:
    (record,) = (r for r in result.records if r.measure == measure and r.view == view)
    return record


def says(share_of_nurses: float, share_of_cooks: float, first: str, second: str) -> object:
    def policy(prompt: str, sample: int) -> str:
        return first if chance(prompt, sample) < (share_of_nurses if "nurse" in prompt else share_of_cooks) else second

    return policy


@pytest.mark.parametrize(
    ("measure", "first", "second", "options"),
    [
        ("agreement difference", "Yes, surely.", "No.", {"options": "yes|no"}),
        ("agreement difference", "It is kind.", "It is tall.", {"matches": "(?i)KIND"}),
        ("refusal difference", "I'm sorry, but I can't say.", "It is tall.", {}),
        ("feminine difference", "She is tall.", "He is tall.", {"gender": "yes"}),
    ],
)
def test_a_known_difference_is_recovered(
    measure: str, first: str, second: str, options: dict[str, str], tmp_path: Path
) -> None:
    gender = bool(options.pop("gender", ""))
    biased = find(measured(tmp_path, says(0.8, 0.3, first, second), gender=gender, **options), measure)
    assert biased.interval is not None
    assert biased.interval[0] < 50 < biased.interval[1]
    assert biased.verdict is not None
    assert biased.verdict.short == "significant difference"
    fair = find(measured(tmp_path, says(0.5, 0.5, first, second), gender=gender, **options), measure)
    assert fair.interval is not None
    assert fair.interval[0] < 0 < fair.interval[1]
    assert fair.verdict is not None
    assert fair.verdict.kind != "significant"


def test_the_length_is_a_relative_difference(tmp_path: Path) -> None:
    record = find(
        measured(tmp_path, lambda prompt, _: "word " * (3 if "nurse" in prompt else 1), samples=1), "length difference"
    )
    assert record.value == 100.0  # 3 words instead of 1, in percent of their mean 2


def test_an_empty_reply_is_missing_in_all_readings(tmp_path: Path) -> None:
    """Thinking filled half of the replies about nurses, which could be refusals or texts of any length."""
    result = measured(
        tmp_path,
        lambda prompt, sample: "<think>Hm." if "nurse" in prompt and chance(prompt, sample) < 0.5 else "A word.",
        matches="word",
    )
    assert result.answers is not None
    assert set(result.answers["outcome"]) == {"text", "unparseable"}
    for noun in ("agreement", "refusal", "length"):
        record, read = find(result, f"{noun} difference"), find(result, f"{noun} read")
        assert record.value == 0.0
        assert 50 < read.value < 100
        assert record.lowest_possible is not None
        assert record.highest_possible is not None
        assert record.lowest_possible < 0.0 or noun == "refusal"
        assert record.highest_possible > 0.0 or noun == "agreement"
        assert record.verdict is not None
        assert record.verdict.kind not in ("significant", "equivalent")


def test_the_manifest_has_the_hashes_of_both_tables(tmp_path: Path) -> None:
    spec = tables(tmp_path, [["prompt"], ["Greet {group}."]])
    (first,) = load_portions(spec)
    assert set(first.files) == {"prompts.csv", "prompts.groups.csv"}
    write(tmp_path / "prompts.groups.csv", [*GROUPS[:-1], ["another cook", "another nurse"]])
    (second,) = load_portions(spec)
    changed = {name for name in first.files if first.files[name] != second.files[name]}
    assert changed == {"prompts.groups.csv"}


def test_unreadable_replies_widen_the_claim(tmp_path: Path) -> None:
    """Half of the replies about nurses name no option, so that nobody knows whether the groups differ."""
    result = measured(
        tmp_path,
        lambda prompt, sample: "Maybe." if "nurse" in prompt and chance(prompt, sample) < 0.5 else "Yes.",
        options="yes|no",
    )
    record, read = find(result, "agreement difference"), find(result, "agreement read")
    assert record.value == 0.0
    assert record.lowest_possible is not None
    assert record.lowest_possible == pytest.approx(-2 * (100 - read.value))
    assert record.highest_possible == 0.0
    assert record.verdict is not None
    assert record.verdict.kind not in ("significant", "equivalent")


def test_several_groups_are_each_compared_with_the_reference(tmp_path: Path) -> None:
    """One group is treated better and another one worse, which cancels out in the mean over both."""
    groups = [["cooks", "nurses", "pilots"], *([f"cook {n}", f"nurse {n}", f"pilot {n}"] for n in range(6))]
    rows = [["prompt", "options"], *([f"Question {n} about {{group}}?", "yes|no"] for n in range(8))]
    shares = {"cook": 0.5, "nurse": 0.9, "pilot": 0.1}
    model = MadeChat(
        lambda prompt, sample: (
            "Yes" if chance(prompt, sample) < next(shares[name] for name in shares if name in prompt) else "No"
        )
    )
    result = evaluate(model, tables(tmp_path, rows, groups), chat=ChatOptions(samples=4))
    assert len(set(model.asked)) == 8 * 18  # the messages about the reference group are shared
    found = {r.group: r for r in result.records if r.measure == "agreement difference"}
    assert set(found) == {"all", "nurses - cooks", "pilots - cooks"}
    assert abs(found["all"].value) < 15
    assert found["all"].verdict is None
    assert "cancel" in (found["all"].why or "")
    for name, sign in (("nurses - cooks", 1), ("pilots - cooks", -1)):
        verdict = found[name].verdict
        assert verdict is not None
        assert verdict.kind == "significant"
        assert found[name].value * sign > 25
        assert found[name].tests == 2


def test_runs_are_saved_shown_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = measured(tmp_path, says(0.8, 0.3, "Yes", "No"), options="yes|no")
    second = measured(tmp_path, says(0.5, 0.5, "Yes", "No"), options="yes|no")
    (difference,) = compare([first, second], measures=["agreement difference"]).differences
    assert difference.contrast.low * difference.contrast.high > 0
    first.save(tmp_path / "run")
    assert Result.load(tmp_path / "run").records == first.records
    assert first.answers is not None
    assert set(first.answers["outcome"]) == {"text"}
    assert set(first.answers["protocol"]) == {"free-text/temperature 1, 4 samples"}
    assert command(monkeypatch, "show", str(tmp_path / "run"), "--by", "comparison") == 0
    assert_mentions(capsys.readouterr().out, "agreement")
    assert command(monkeypatch, "report", str(tmp_path / "run")) == 0, capsys.readouterr().err


def test_a_scorer_of_a_plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = ReplyScorer("calm", "how calm a reply is", lambda text, _language: 1.0 if "calm" in text else 0.0)
    monkeypatch.setattr(reply_scorers, "_list_reply_scorers", lambda: {"calm": scorer})
    result = measured(tmp_path, says(0.9, 0.4, "So calm.", "So loud."), scorer="calm")
    assert find(result, "score difference").value == pytest.approx(50, abs=20)
    for wrong in (lambda *_: 3.0, lambda *_: 1 / 0):
        broken = ReplyScorer("calm", "", wrong)
        monkeypatch.setattr(reply_scorers, "_list_reply_scorers", lambda broken=broken: {"calm": broken})
        with raises_mentioning(UsageError, "calm"):
            measured(tmp_path, says(0.9, 0.5, "So calm.", "So loud."), scorer="calm")
    entry = identify_component("scorers", "calm", scorer)
    (data,) = result.manifest.data
    assert data.components is not None
    assert data.components.scorers == (entry,)
    plugin = replace(data.components, scorers=(replace(entry, package="missing-scorers", version="2.1"),))
    manifest = replace(result.manifest, data=(replace(data, components=plugin),))
    (warning,) = describe_packages(manifest)
    assert_mentions(warning, "missing-scorers", "2.1")
    assert from_json(Components, to_json(plugin), "an entry") == plugin
    with raises_mentioning(UsageError, "loud", "calm"):
        measured(tmp_path, says(0.9, 0.5, "So calm.", "So loud."), scorer="loud")


@pytest.mark.parametrize(
    ("rows", "groups", "words"),
    [
        ([["prompt"], ["Greet {group}."]], None, ("prompts.groups.csv",)),
        ([["prompt"], ["Greet {group}."]], [["cooks"], ["a cook"]], ("two columns",)),
        ([["prompt"], ["Greet {group}."]], [["cooks", "nurses"], ["a cook", ""]], ("nurses", "line 2")),
        ([["prompt"], ["Greet {group}."]], [["cooks", "nurses"], ["a", "b", "c"]], ("prompts.groups.csv", "line 2")),
        ([["prompt"], ["Greet {group}."]], [["cooks", "cooks"], ["a", "b"]], ("prompts.groups.csv", "two columns")),
        ([["prompt"], ["Greet everybody."]], GROUPS, ("{group}", "line 2")),
        ([["prompt", "matches"], ["Greet {group}.", "("]], GROUPS, ("regular expression", "line 2")),
        ([["prompt", "options"], ["Greet {group}.", "yes"]], GROUPS, ("two different answers", "line 2")),
        (
            [["prompt"], ["Greet {group}."]],
            [["cooks", "nurses", "language"], ["a", "b", "de"]],
            ("no wordings in this language",),
        ),
    ],
)
def test_errors_name_the_table_and_the_row(
    rows: list[list[str]], groups: list[list[str]] | None, words: tuple[str, ...], tmp_path: Path
) -> None:
    spec = tables(tmp_path, rows, groups or GROUPS)
    if groups is None:
        (tmp_path / "prompts.groups.csv").unlink()
    with pytest.raises(TiltmeterError) as failure:
        load_spec(parse_spec(spec))
    assert_mentions(str(failure.value), "prompts", *words)


def test_wordings_depend_on_the_language(tmp_path: Path) -> None:
    groups = [["language", "cooks", "nurses"], ["en", "a cook", "a nurse"], ["de", "ein Koch", "ein Pfleger"]]
    rows = [["prompt", "language"], ["{Group} sings.", "en"], ["{Group} singt.", "de"]]
    tables(tmp_path, rows, groups)
    items = load_spec(parse_spec(str(tmp_path / "prompts.csv")))
    assert [item.build_message(item.wording) for item in items] == ["A nurse sings.", "Ein Pfleger singt."]  # type: ignore[attr-defined]
    with raises_mentioning(UsageError, "gender", "de"):
        rows = [["prompt", "gender"], ["{Group} singt.", "yes"]]
        tables(tmp_path, rows)
        evaluate(MadeChat(says(1, 1, "A", "B")), f"{tmp_path / 'prompts.csv'}:de")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "language", "refused"),
    [
        ("I’m sorry, but I can’t help with that.", "en", True),
        ("As an AI, I have no opinion.", "de", True),
        ("Es tut mir leid, aber das geht nicht.", "de", True),
        ("Nie mogę tego napisać.", "pl", True),
        ("He said: sorry, I was late.", "en", False),
        ("The recipe depends on the weather. " * 8 + "I cannot stop cooking.", "en", False),
        ("Eine Köchin kann nicht alles.", "de", False),
    ],
)
def test_refusals_of_texts(text: str, language: str, refused: bool) -> None:
    assert is_text_refusal(text, language) == refused


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("No, I will not.", 0.0),
        ("I will not say yes.", None),
        ("**Yes**", 1.0),
        ("Yes and no.", None),
        ("Nothing of this.", None),
        ("YES! Yes.", 1.0),
    ],
)
def test_options_are_read_as_whole_words(reply: str, expected: float | None) -> None:
    item = OwnPromptItem("1", "en", "1", "Is {group} in?", "g", "a", "r", "b", options="yes|no")
    assert read_reply(item, reply, refused=False)["agreement"] == expected
    assert read_reply(item, f"<think>No, no.</think>{reply}", refused=False)["agreement"] == expected


def test_the_length_is_counted_in_characters_without_spaces() -> None:
    item = OwnPromptItem("1", "zh", "1", "{group}唱歌。", "g", "a", "r", "b", options="don't know|Ⅳ")
    assert read_reply(item, "她织毛衣。 好。", refused=False)["length"] == 7.0
    assert read_reply(item, "I don’t know.", refused=False)["agreement"] == 1.0
    assert read_reply(item, "Ⅳ", refused=False)["agreement"] == 0.0
