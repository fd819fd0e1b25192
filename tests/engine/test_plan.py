"""Plans: every question once, nothing lost, little padding, and no dependence on order."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.engine.plan import LARGEST_TREE, padding_share, plan
from tiltmeter.engine.rows import Asks, Row, by_question
from tiltmeter.questions import Question, Want

ids = st.lists(st.integers(0, 5), min_size=1, max_size=12).map(tuple)


# How many numbers answer each pair.
WANTS = {Want.LOG_PROB: 1, Want.LOG_PROB_AND_TOP: 2, Want.LOGIT: 1}


@st.composite
def question(draw: st.DrawFn) -> Question:
    tokens = draw(ids)
    places = draw(st.lists(st.integers(0, len(tokens) - 1), min_size=1, max_size=4, unique=True))
    wanted = tuple((place, draw(st.integers(0, 9))) for place in places)
    return Question(tokens, wanted, want=draw(st.sampled_from(list(WANTS))))


questions = st.lists(question(), min_size=1, max_size=30)


def seen_by(row: Row, place: int) -> tuple[int, ...]:
    """The tokens a causal model has read at a place of a row, found the slow way."""
    ends = row.ends or (len(row.ids),) * len(row.ids)
    return tuple(row.ids[i] for i in range(place + 1) if place < ends[i])


def own_input(row: Row, place: int) -> tuple[tuple[int, ...], int]:
    """The input that a place of a masked model's row belongs to, and the place in it."""
    start = 0
    for length in row.lengths or (len(row.ids),):
        if place < start + length:
            return row.ids[start : start + length], place - start
        start += length
    raise AssertionError("the place is not in the row")


@pytest.mark.parametrize("pack", [0, 5, 20])
@given(questions)
def test_every_question_is_asked_once_after_the_tokens_it_belongs_to(pack: int, asked: list[Question]) -> None:
    by_digest = {q.digest: q for q in asked}
    found = []
    for batch in plan(asked, "causal", 64, pack=pack):
        for row in batch:
            assert len(row.ids) <= max(pack, LARGEST_TREE)
            for q, places in row.reads:
                for place, position in ((place, places[place]) for place, _ in q.wanted):
                    assert seen_by(row, position) == q.ids[: place + 1]
                    assert not row.depths or row.depths[position] == place
                found.append(q.digest)
    assert sorted(found) == sorted(by_digest)


@given(questions)
def test_inputs_of_a_masked_model_that_share_a_row_keep_their_tokens_and_positions(asked: list[Question]) -> None:
    found = []
    for batch in plan(asked, "masked", 64, pack=16):
        for row in batch:
            assert len(row.ids) <= 16
            for q, places in row.reads:
                for place, position in ((place, places[place]) for place, _ in q.wanted):
                    assert own_input(row, position) == (q.ids, place)
                found.append(q.digest)
    assert sorted(found) == sorted({q.digest for q in asked})


def test_packing_leaves_no_gaps_to_speak_of() -> None:
    rng = random.Random(1)
    asked = [Question(tuple(rng.choices(range(50), k=rng.randint(6, 30))), ((0, 1),)) for _ in range(2000)]
    assert padding_share(plan(asked, "masked", 65536, pack=128), 65536) < 0.01


@given(questions)
def test_the_asks_of_a_batch_are_its_pairs_in_order_and_their_numbers_become_answers(asked: list[Question]) -> None:
    for batch in plan(asked, "masked", 64):
        asks = Asks.of(batch)
        expected = [
            (line, place, token, read.question.want)
            for line, row in enumerate(batch)
            for read in row.reads
            for place, token in read.question.wanted
        ]
        assert list(zip(asks.lines, asks.positions, asks.tokens, asks.wants, strict=True)) == expected
        numbers = np.float32([asks.tokens, asks.positions])
        for digest, answer in by_question(batch, numbers).items():
            q = next(q for q in asked if q.digest == digest)
            tokens, places = [token for _, token in q.wanted], [place for place, _ in q.wanted]
            assert answer.tolist() == (tokens + places if WANTS[q.want] == 2 else tokens)


@given(questions, st.randoms(use_true_random=False))
def test_the_order_of_the_questions_changes_nothing(asked: list[Question], rng: random.Random) -> None:
    shuffled = list(asked)
    rng.shuffle(shuffled)
    for kind in ("masked", "causal"):
        assert plan(asked, kind, 40) == plan(shuffled, kind, 40)


@given(questions, st.integers(1, 60))
def test_no_batch_of_several_rows_exceeds_the_budget(asked: list[Question], budget: int) -> None:
    for batch in plan(asked, "masked", budget):
        assert len(batch) == 1 or len(batch) * max(len(row.ids) for row in batch) <= budget


def test_one_input_with_three_candidates_is_one_row() -> None:
    asked = [Question((1, 2, 3), ((1, token),)) for token in (7, 8, 9)]
    (batch,) = plan(asked, "masked", 100)
    assert len(batch) == 1
    assert set(Asks.of(batch).tokens.tolist()) == {7, 8, 9}


def test_a_shared_prefix_is_sent_once_and_what_is_not_read_is_not_sent() -> None:
    prefix = (1, 2, 3, 4)
    asked = [Question((*prefix, a, 9), ((3, a), (4, 9))) for a in (5, 6, 7)]
    ((tree,),) = plan(asked, "causal", 100)
    assert tree.ids == (1, 2, 3, 4, 5, 6, 7)  # the prefix once, each candidate's first token, and no final 9
    ((*rows,),) = plan(asked, "causal", 100, share_prefixes=False)
    assert [row.ids for row in rows] == [(*prefix, 5), (*prefix, 6), (*prefix, 7)]


def test_a_long_prefix_is_shared_even_in_a_row_that_is_wider_than_others() -> None:
    context = tuple(range(50))
    asked = [Question((*context, a, a, a), ((50, a), (51, a))) for a in (5, 6, 7)]
    ((tree,),) = plan(asked, "causal", 100, pack=54)
    assert len(tree.ids) == 50 + 3 * 2
    # Two tokens of eight are not worth a wider row.
    short = [Question((1, 2, *[a] * 6), ((7, a),)) for a in range(10, 15)]
    assert max(len(row.ids) for batch in plan(short, "causal", 100, pack=16) for row in batch) <= 16


def test_short_targets_share_a_row_as_far_as_their_sources_go_together() -> None:
    asked = [Question((0, 1, n), ((2, n),), source=(n,) * 40) for n in range(100)]
    rows = [row for batch in plan(asked, "seq2seq", 4096, pack=64) for row in batch]
    assert sorted(source for row in rows for source in row.sources) == sorted(q.source for q in asked)
    # Eight tokens of sources for each that a row may have itself: twelve sources, where 21 targets would fit.
    assert {len(row.sources) for row in rows} == {12, 100 % 12}


def test_padding_is_under_three_percent_for_lengths_as_they_occur() -> None:
    rng = random.Random(1)
    lengths = [max(5, round(rng.gauss(14, 4))) for _ in range(4000)]
    asked = [Question(tuple(rng.randrange(9) for _ in range(n)), ((0, 1),)) for n in lengths]
    assert padding_share(plan(asked, "masked", 1024), 1024) < 0.03
