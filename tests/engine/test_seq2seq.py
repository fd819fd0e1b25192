"""Encoder-decoders: tokens sent through encoder and decoder, and the share of padding."""

import random
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.asked import CPU, plain
from tests.models.tiny import SEQ2SEQ, VOCABULARY, made
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.batch_rows import Row
from tiltmeter.engine.execution import answer_all
from tiltmeter.engine.seq2seq import Seq2seqAnswerer, ignore_positions
from tiltmeter.engine.speedups import ALL
from tiltmeter.progress.progress import Progress
from tiltmeter.questions import Question

BATCH_TOKENS = 40
PADDING = 0  # no question has this token


def sent_tokens(
    answerer: Seq2seqAnswerer, asked: list[Question], batch_tokens: int = BATCH_TOKENS
) -> tuple[list[list[torch.Tensor]], Progress]:
    """The token ids sent through encoder and decoder, and the last progress report."""
    told: list[Progress] = []
    sent: list[list[torch.Tensor]] = [[], []]
    stacks = (answerer.model.get_encoder(), answerer.model.get_decoder())  # type: ignore[operator]
    for stack, own in zip(stacks, sent, strict=True):
        forward = stack.forward

        def noted(*args: Any, input_ids: torch.Tensor, forward: Any = forward, own: Any = own, **others: Any) -> Any:
            own.append(input_ids)
            return forward(*args, input_ids=input_ids, **others)

        stack.forward = noted
    found = answer_all(
        asked,
        kind="seq2seq",
        fingerprint="f",
        load=lambda: answerer,
        store=AnswerStore(":memory:"),
        batch_tokens=batch_tokens,
        report=told.append,
    )
    model = made(SEQ2SEQ["t5"])
    for question in asked:
        expected = plain(model, question)[[p for p, _ in question.wanted], [t for _, t in question.wanted]]
        np.testing.assert_allclose(found[question.digest], expected, atol=1e-5, rtol=1e-5)
    return sent, told[-1]


def asked(longest_source: int, n: int = 60) -> list[Question]:
    """Two targets for each of some sources."""
    rng = random.Random(1)

    def tokens(most: int) -> tuple[int, ...]:
        return tuple(rng.randrange(1, VOCABULARY) for _ in range(rng.randint(1, most)))

    sources = [tokens(longest_source) for _ in range(n // 2)]
    targets = [(3, *tokens(8)) for _ in range(n)]
    return [
        Question(ids, ((len(ids) - 1, rng.randrange(VOCABULARY)), (0, 7)), source=sources[number % len(sources)])
        for number, ids in enumerate(targets)
    ]


@pytest.mark.parametrize("longest_source", [6, 20])
@pytest.mark.parametrize("without", [(), ("packing",), ("encode_once",)], ids=str)
def test_each_pass_is_within_the_batch_size(without: tuple[str, ...], longest_source: int) -> None:
    sent, _ = sent_tokens(Seq2seqAnswerer(made(SEQ2SEQ["t5"]), CPU, without), asked(longest_source))
    for own in sent:
        assert len(own) > 2
        assert all(ids.dim() == 2 and (ids.shape[0] == 1 or ids.numel() <= BATCH_TOKENS) for ids in own)
        # And rows are not sent one by one.
        assert max(ids.numel() for ids in own) > BATCH_TOKENS / 2


@pytest.mark.parametrize("pack", [0, 12])
def test_the_reported_share_of_padding_is_that_of_the_tokens_sent(pack: int) -> None:
    answerer = Seq2seqAnswerer(made(SEQ2SEQ["t5"]), CPU)
    answerer.pack = pack
    sent, told = sent_tokens(answerer, asked(9), 160)
    tokens = torch.cat([ids.ravel() for own in sent for ids in own])
    assert told.padding == pytest.approx(float((tokens == PADDING).double().mean()))
    assert told.padding > 0


def test_a_source_is_encoded_once_in_a_batch_for_all_its_targets() -> None:
    questions = [Question((3, a, b), ((2, b),), source=(5, 6, 7)) for a in (8, 9) for b in (10, 11)]
    sent, _ = sent_tokens(Seq2seqAnswerer(made(SEQ2SEQ["t5"]), CPU), questions)
    assert [ids.tolist() for ids in sent[0]] == [[[5, 6, 7]]]


def test_positions_can_be_given_where_sources_are_encoded_apart_and_the_decoder_takes_them() -> None:
    answerer = Seq2seqAnswerer(made(SEQ2SEQ["t5"]), CPU, ALL)
    found = {}
    for once in (False, True):
        for decoder_at in (ignore_positions, lambda _positions: nullcontext()):
            answerer.encodes_once, answerer.decoder_at = once, decoder_at
            found[once, decoder_at is not ignore_positions] = answerer.accepts_positions()
    assert found == {(False, False): False, (False, True): False, (True, False): False, (True, True): True}


@torch.inference_mode()
def test_sources_of_one_length_in_rows_of_their_own_are_encoded_without_a_mask() -> None:
    answerer = Seq2seqAnswerer(made(SEQ2SEQ["t5"]), CPU, ALL)
    masks: list[Any] = []
    answerer._encoder.register_forward_pre_hook(
        lambda _module, _args, named: masks.append(named["attention_mask"]), with_kwargs=True
    )
    answerer._encode_rows([[(5, 6, 7)], [(8, 9, 4)]])
    answerer._encode_rows([[(5, 6, 7)], [(8, 9)]])
    answerer._encode_rows([[(5, 6, 7)], [(8, 9), (4,)]])
    assert masks[0] is None
    assert masks[1].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert (masks[2] == 0)[:, 0].int().tolist() == [[[1, 1, 1]] * 3, [[1, 1, 0], [1, 1, 0], [0, 0, 1]]]


@torch.inference_mode()
def test_rows_of_one_source_need_no_mask_for_each_token() -> None:
    answerer = Seq2seqAnswerer(made(SEQ2SEQ["t5"]), CPU, ALL)
    sources = [(5, 6, 7), (8, 9), (4, 4, 4)]
    states, starts = answerer._encode_sources(sources)
    rows = [Row((1, 2), (source,)) for source in sources]
    assert answerer._build_decoder_inputs([rows[0], rows[2]], states, starts)["attention_mask"] is None
    assert answerer._build_decoder_inputs(rows, states, starts)["attention_mask"].tolist() == [
        [1, 1, 1],
        [1, 1, 0],
        [1, 1, 1],
    ]
    packed = [Row((1, 2, 3), (sources[0], sources[1]), lengths=(1, 2)), Row((1,), (sources[2],))]
    given = answerer._build_decoder_inputs(packed, states, starts)
    assert (given["attention_mask"] == 0)[:, 0].int().tolist() == [
        [[1, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]],
        [[1, 1, 1, 0, 0]] * 3,  # padding sees the first source of its row
    ]
    whole = answerer.model.get_encoder()(input_ids=torch.tensor([sources[1]])).last_hidden_state  # type: ignore[operator]
    torch.testing.assert_close(given["encoder_outputs"].last_hidden_state[0, 3:], whole[0])
    assert given["encoder_outputs"].last_hidden_state[1, 3:].eq(0).all()
