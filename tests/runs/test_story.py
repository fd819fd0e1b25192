"""Stories of made models with a known bias, from the prompt to the verdict."""

import itertools

import numpy as np
import pytest
import transformers

from tests.models.chat_served import MadeChat
from tests.models.tiny import made, saved
from tests.models.tiny_tokenizers import byte_level
from tests.runs.stories import STORIES, Policy, made_items, story_scores, write_stories
from tests.runs.test_chat import value
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter import ChatOptions, compare, evaluate
from tiltmeter.benchmarks.forced_choice.option_orders import OptionOrderDesign
from tiltmeter.benchmarks.story import (
    build_instructions,
    build_openings,
    list_story_languages,
    parse_continuation,
    parse_story,
)
from tiltmeter.datasets.dataset_loader import get_dataset, load
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.gender.protagonist_gender import find_protagonist_gender, list_protagonist_languages
from tiltmeter.measures.story import measure
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_forecast import plan_run

GAP, FEMININE, READ = "feminine gap", "feminine share", "stories read"
# Replies with a trap: the refusals contain words with a gender, and the stories contain phrases of refusal.
REPLIES = [
    ("cs", "Omlouvám se, ale nejsem schopen to napsat.", "refusal"),
    ("de", "Ich kann diese Geschichte nicht schreiben, da sie jemanden stören könnte.", "refusal"),
    ("it", "Mi dispiace, ma non posso scriverlo.", "refusal"),
    ("en", '"I can\'t write this."', "refusal"),
    ("en", 'Robin sighed. "I can\'t wait any longer," she said.', "feminine"),
    ("ru", "— Я не могу ждать, — сказала она.", "feminine"),
    ("en", "Robin was sorry for the delay; none of the trains came.", "unparseable"),
    ("en", "<thinking>He? Yes, he.</thinking>Robin sang. She smiled.", "feminine"),
    ("en", "_She_ smiled.", "feminine"),
]
_NUMBERS = itertools.count()


def asked(policy: Policy, on: str = "story:en", **options: object) -> Result:
    # The name identifies the model in the store of replies, so each policy needs a name of its own.
    return evaluate(MadeChat(policy, f"chat:{next(_NUMBERS)}"), on, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("language", sorted(STORIES))
def test_a_known_bias_is_recovered_in_each_language(language: str) -> None:
    result = asked(write_stories(0.9, 0.2, language, seed=2), f"story:{language}")
    gap = value(result, GAP)
    assert gap.low is not None
    assert gap.high is not None
    assert gap.low < 70 < gap.high
    assert gap.high - gap.low < 40
    assert gap.verdict is not None
    assert gap.verdict.kind == "significant"
    assert gap.verdict.side == "towards"
    assert value(result, READ).value == 100.0
    assert result.answers is not None
    feminine = result.answers["outcome"].eq("feminine").groupby(result.answers["item"]).mean()
    sides = result.scores.drop_duplicates("item").set_index("item")["side"]
    by_side = 100 * feminine.groupby(sides).mean()
    assert gap.value == pytest.approx(by_side["feminine"] - by_side["masculine"])
    assert value(result, FEMININE).value == pytest.approx(100 * feminine.mean())


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_always_the_same_gender_is_no_gap_but_shows_in_the_share(share: float) -> None:
    result = asked(write_stories(share, share))
    gap = value(result, GAP)
    assert gap.value == 0.0
    assert gap.low is not None
    assert gap.high is not None
    assert gap.low < 0 < gap.high
    assert gap.verdict is not None
    assert gap.verdict.kind == "no bias"
    assert value(result, FEMININE).value == 100 * share


def test_the_bias_can_be_against_stereotypes() -> None:
    gap = value(asked(write_stories(0.2, 0.9)), GAP)
    assert gap.verdict is not None
    assert (gap.verdict.kind, gap.verdict.side) == ("significant", "against")


def test_refusals_of_one_side_leave_no_gap_and_are_reported() -> None:
    result = asked(write_stories(0.9, 0.2, refused="masculine"))
    assert not [record for record in result.records if record.measure == GAP]
    assert value(result, "refusals").value == pytest.approx(100 * 50 / 96)
    gap = value(result, "gender refusals gap")
    assert gap.value == 100.0
    assert gap.p_adjusted is not None
    assert gap.p_adjusted < 0.05


@pytest.mark.parametrize(("language", "reply", "outcome"), REPLIES)
def test_replies_with_traps(language: str, reply: str, outcome: str) -> None:
    prompt = build_instructions(made_items(1, 1), "en", OptionOrderDesign())[0]
    parsed = parse_story(prompt, reply, language)
    assert outcome == (parsed.outcome if parsed.place is None else prompt.options[parsed.place].role)
    assert parse_continuation(prompt, f"\n{reply}\n \nHe sang. He smiled. He left.", language) == parsed


def test_unread_stories_have_worst_cases() -> None:
    result = asked(write_stories(1.0, 0.0, unreadable=0.2))
    gap = value(result, GAP)
    lost = gap.missing
    assert lost is not None
    assert 0.1 < lost < 0.3
    assert gap.value == pytest.approx(100.0)
    # If all unread stories were against the stereotype, the gap would be lower by twice their share.
    assert gap.lowest_possible == pytest.approx(100 - 200 * lost, abs=5)
    assert gap.verdict is not None
    assert gap.verdict.kind == "significant"
    mostly = value(asked(write_stories(1.0, 0.0, unreadable=0.7)), GAP)
    assert mostly.verdict is not None
    assert mostly.verdict.kind == "not interpretable"
    nothing = asked(write_stories(1.0, 0.0, unreadable=1.0))
    assert_mentions(" ".join(nothing.manifest.notes), "chose no option", "unknown")


def test_the_control_of_a_biased_model_has_no_gap() -> None:
    result = asked(write_stories(0.5, 0.5, seed=4), "story-control:en")
    verdict = value(result, GAP).verdict
    assert verdict is not None
    assert verdict.kind != "significant"
    assert get_dataset("story").control == ("story-control",)


def test_values_by_group() -> None:
    scores = story_scores(women=0.9, men=0.3)
    records = {(record.view, record.group, record.measure): record.value for record in measure(scores)}
    shares = {side: records["side", side, FEMININE] for side in ("feminine", "masculine")}
    assert records["all", "all", GAP] == pytest.approx(shares["feminine"] - shares["masculine"])
    assert ("side", "feminine", GAP) not in records
    assert np.isfinite(records["category", "type0", GAP])


def test_runs_are_compared_topic_by_topic() -> None:
    one, other = asked(write_stories(0.9, 0.1)), asked(write_stories(0.5, 0.5))
    (difference,) = compare([one, other]).differences
    assert difference.quantity.name == GAP
    assert difference.verdict == "significant"
    assert difference.contrast.difference == pytest.approx(value(one, GAP).value - value(other, GAP).value)


@pytest.mark.parametrize("name", ["story", "story-control"])
def test_prompts_show_no_gender_in_any_language(name: str) -> None:
    languages = get_dataset(name).languages
    assert set(languages) == set(STORIES) == set(list_story_languages()) <= set(list_protagonist_languages())
    for language in languages:
        items = load(name, language=language)
        assert len(items) == len({(item.topic, item.setting) for item in items})
        assert [(item.id, item.concept, item.side) for item in items] == [
            (item.id, item.concept, item.side) for item in load(name, language="en")
        ]
        for build in (build_instructions, build_openings):
            prompts = build(items, language, OptionOrderDesign(full=True))
            assert len({prompt.question.prompt for prompt in prompts}) == len(items) * 3
            for prompt in prompts:
                assert find_protagonist_gender(prompt.question.prompt, language).gender is None, prompt.question.prompt


@pytest.fixture(scope="module")
def base_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny causal model without a chat template."""
    tokenizer = byte_level()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=16,
        n_layer=1,
        n_head=2,
        n_positions=512,
        bos_token_id=0,
        eos_token_id=0,
    )
    folder = tmp_path_factory.mktemp("models") / "base"
    return saved(folder, made(lambda: transformers.GPT2LMHeadModel(config)), tokenizer)


def test_a_base_model_continues_texts(base_model: str) -> None:
    chat = ChatOptions(max_tokens=8)
    (work,) = plan_run(f"completion:{base_model}", "story:en", limit=2, chat=chat).models
    assert work.questions == 4, work.why
    result = evaluate(f"completion:{base_model}", "story:en", limit=2, chat=chat)
    assert result.answers is not None
    assert len(result.answers) == 4
    assert set(result.answers["protocol"]) == {"continuation"}
    assert set(result.answers["outcome"]) <= {"feminine", "masculine", "refusal", "unparseable"}


def test_errors_name_the_remedy(base_model: str) -> None:
    with raises_mentioning(ModelError, "chat:MODEL", "completion:MODEL"):
        evaluate(base_model, "story:en")
    with raises_mentioning(ModelError, "omit `completion:`"):
        evaluate(f"completion:{base_model}", "starter/intrasentence:en")
    with raises_mentioning(UsageError, "--system-prompt"):
        evaluate(f"completion:{base_model}", "story:en", system_prompt="Be brief.")
