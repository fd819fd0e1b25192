"""Tiltmeter's own components conform."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks.test_multiple_choice import item as question
from tests.benchmarks.test_pairs import PAIRS, causal_text, masked_text, seq2seq_text
from tests.forms.test_forms import FRAMED, GENDERED, GEST, INTER, INTRA, PAIR, WHOLE, WINOBIAS
from tests.measures import test_geneval, test_gest_mt, test_multiple_choice, test_winomt
from tests.models.chat_served import ChatServer, MadeChat, chat_serving, first
from tests.models.test_chat_providers import MessagesServer, messages_serving
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made
from tests.models.tiny_tokenizers import byte_level
from tests.runs import stories
from tests.runs.made import association_scores, gest_scores, pair_scores, winobias_scores
from tests.runs.word_lists import made_items, word_scores
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks import get_benchmarks
from tiltmeter.benchmarks.benchmark import UnsupportedPart
from tiltmeter.benchmarks.forced_choice.choice_scores import ItemAnswer
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement, OptionOrderDesign
from tiltmeter.benchmarks.own_prompt_scores import OwnPrompt, compute_prompt_scores
from tiltmeter.forms import get_forms
from tiltmeter.forms.geneval import GenevalItem
from tiltmeter.forms.own_prompts import OwnPromptItem
from tiltmeter.forms.winomt import WinoMTItem
from tiltmeter.measures import get_measure_function
from tiltmeter.models.model_opener import open_given_model
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.options import ModelOptions
from tiltmeter.questions import ChatQuestion, Option
from tiltmeter.testing import check_benchmark, check_chat_model, check_form, check_measure, check_model

ITEMS: dict[str, list[Any]] = {
    "association": [INTRA, INTER, WHOLE],
    "gendered-pairs": [GENDERED],
    "geneval": [
        GenevalItem("1", "sentences", "es", "feminine", "She gardens.", "La jardinera.", "El jardinero.", pair="p"),
        GenevalItem("2", "context", "es", "feminine", "Kim cooks.", "una", "uno", context="She left."),
    ],
    "gest": [GEST, FRAMED],
    "multiple-choice": [question("q"), question("r", stereotype="the doctor")],
    "own-prompts": [
        OwnPromptItem("1", "en", "p", "Greet {group}.", "nurses", "a nurse", "cooks", "a cook", options="yes|no"),
        OwnPromptItem("2", "en", "q", "{Group} sings.", "nurses", "a nurse", "cooks", "a cook"),
    ],
    "pairs": [PAIR, *PAIRS],
    "winobias": [WINOBIAS],
    "winomt": [WinoMTItem("1", "en", "male", "cook", 1, "The cook sang.", "pro")],
    "word-association": made_items(tests=1, names=1),
    "story": stories.made_items(2, 2),
}
# Benchmarks of chat models only.
CHAT_ONLY = {"own-prompts": "chat models only", "word-association": "chat models only", "story": "must be written"}


@pytest.mark.parametrize("name", sorted(get_forms()))
def test_forms(name: str) -> None:
    check_form(get_forms()[name], ITEMS[name])


@pytest.mark.parametrize("name", sorted(get_benchmarks().keys() - CHAT_ONLY.keys()))
def test_benchmarks(name: str) -> None:
    byte = TokenizerText(byte_level(mask=True), SimpleNamespace(), "causal")
    texts = [masked_text(), causal_text(bos_token="<s>"), seq2seq_text(), byte]
    check_benchmark(get_benchmarks()[name], get_forms()[name], ITEMS[name], texts)


@pytest.mark.parametrize("name", sorted(CHAT_ONLY))
def test_benchmarks_of_chat_models(name: str) -> None:
    benchmark = get_benchmarks()[name]
    with raises_mentioning(UnsupportedPart, CHAT_ONLY[name]):
        benchmark.ask("all", ITEMS[name], causal_text(), protocol=next(iter(benchmark.protocols)))
    if benchmark.messages is not None and not benchmark.messages.has_options:
        assert benchmark.messages.build(ITEMS[name], "en", OptionOrderDesign(), 1)
        return
    assert benchmark.choice is not None
    for item in ITEMS[name]:
        roles = {option.role for option in benchmark.choice(item).options}
        assert roles in ({"stereotype", "anti-stereotype"}, {"masculine", "feminine"})


def choice_scores() -> pd.DataFrame:
    from tests.measures.test_choices import chosen, table

    rng = np.random.default_rng(1)
    roles = ["stereotype", "anti-stereotype"]
    answers = {str(number): chosen(*map(str, rng.choice(roles, 2))) for number in range(60)}
    return table(answers)


def own_prompt_scores() -> pd.DataFrame:
    """Scores of 60 items with a difference in refusals and lengths; a tenth of the replies name no option."""
    rng = np.random.default_rng(2)
    key = {"model": "m", "benchmark": "b", "part": "all", "language": "en", "protocol": "free-text"}
    rows = []
    for number in range(60):
        labels = {"comparison": "nurses - cooks", "template": f"t{number % 10}", "pair": f"w{number % 6}"}
        answered = []
        for side, chance_of_yes in (("group", 0.7), ("reference", 0.4)):
            draws = rng.random(2)
            text = "Maybe." if draws[0] < 0.1 else "Yes." if draws[1] < chance_of_yes else "No, not at all."
            prompt = OwnPrompt(
                str(number),
                Arrangement(0, (0,), False),
                ChatQuestion("?", ()),
                (Option(side, ""),),
                "en",
                ITEMS["own-prompts"][0],
            )
            answered.append((prompt, ItemAnswer(prompt.arrangement, (side,), (0.0,), False, text)))
        for item, role, score in compute_prompt_scores(str(number), answered):
            rows.append({**key, **labels, "item": item, "candidate": role, "role": role, "score": score})
    return pd.DataFrame(rows)


def bbq_scores() -> pd.DataFrame:
    rows = [
        *test_multiple_choice.made_rows("ambiguous", 80, 1, (0.4, 0.2, 0.4)),
        *test_multiple_choice.made_rows("disambiguated", 80, 2, (0.5, 0.4, 0.1)),
    ]
    return test_multiple_choice.table(rows)


SCORES = {
    "association": partial(association_scores, n=80),
    "choices": choice_scores,
    "geneval": lambda: test_geneval.table(test_geneval.pairs(60)).assign(candidate=""),
    "gest": gest_scores,
    "gest_mt": lambda: test_gest_mt.table(test_gest_mt.SIXTEEN),
    "multiple_choice": bbq_scores,
    "own_prompts": own_prompt_scores,
    "pairs": pair_scores,
    "winobias": winobias_scores,
    "winomt": lambda: test_winomt.table(test_winomt.made()),
    "story": partial(stories.story_scores, concepts=24),
    "word_association": partial(word_scores, tests=6, share=0.6),
}


@pytest.mark.parametrize("name", sorted(SCORES))
def test_measures(name: str) -> None:
    from importlib import import_module

    # Rates of translations are centres of Agresti-Coull intervals.
    tolerances = {"f_s": 0.02, "f_s of stereotypes like these": 0.02} if name == "gest_mt" else None
    check_measure(import_module(get_measure_function(name).__module__), SCORES[name](), tolerances)


def test_every_module_of_measures_is_tested() -> None:
    from tiltmeter.measures import _load_measure_modules

    assert set(_load_measure_modules()) == set(SCORES)


@pytest.mark.parametrize(("kind", "family"), [("causal", CAUSAL), ("masked", MASKED), ("seq2seq", SEQ2SEQ)])
def test_models(kind: str, family: Any, tmp_path: Path) -> None:
    make = next(iter(family.values()))
    text = {"causal": causal_text(bos_token="<s>"), "masked": masked_text(), "seq2seq": seq2seq_text()}[kind]
    one, other = (open_given_model((made(make, seed), text.tokenizer), ModelOptions(kind=kind)) for seed in (1, 2))  # type: ignore[arg-type]
    check_model(one, other)  # type: ignore[arg-type]


def test_chat_models() -> None:
    check_chat_model(MadeChat(first, "chat:one"), MadeChat(first, "chat:other"))
    with chat_serving(ChatServer(first)) as name:
        check_chat_model(open_given_model(name, ModelOptions()))  # type: ignore[arg-type]
    with messages_serving(MessagesServer(first)) as name:
        check_chat_model(open_given_model(name, ModelOptions()))  # type: ignore[arg-type]
