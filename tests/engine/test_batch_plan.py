"""Plans: every question once, little padding, and independence of order."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.engine import batch_plan as module
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_plan import LARGEST_TREE, SHORTEST_SHARED_PREFIX, compute_padding_share, plan_batches
from tiltmeter.engine.batch_rows import NumberRequests, Row, split_by_question
from tiltmeter.questions import Kind, Question, WantedQuantity

ids = st.lists(st.integers(0, 5), min_size=1, max_size=12).map(tuple)


# How many numbers are requested for each pair.
# Inputs with a common prefix share a row.
SHARING = BatchLayout(shares_prefixes=True)
WANTS = {WantedQuantity.LOG_PROB: 1, WantedQuantity.LOG_PROB_AND_TOP: 2, WantedQuantity.LOGIT: 1}


@st.composite
def question(draw: st.DrawFn) -> Question:
    tokens = draw(ids)
    places = draw(st.lists(st.integers(0, len(tokens) - 1), min_size=1, max_size=4, unique=True))
    wanted = tuple((place, draw(st.integers(0, 9))) for place in places)
    return Question(tokens, wanted, want=draw(st.sampled_from(list(WANTS))))


questions = st.lists(question(), min_size=1, max_size=30)


def seen_by(row: Row, place: int) -> tuple[int, ...]:
    """The tokens that a causal model attends to at an index of a row, found the slow way."""
    ends = row.ends or (len(row.ids),) * len(row.ids)
    return tuple(row.ids[i] for i in range(place + 1) if place < ends[i])


def own_input(row: Row, place: int) -> tuple[tuple[int, ...], int]:
    """The input that an index of a masked model's row belongs to, and the position in it."""
    start = 0
    for length in row.lengths or (len(row.ids),):
        if place < start + length:
            return row.ids[start : start + length], place - start
        start += length
    raise AssertionError("the place is not in the row")


@pytest.mark.parametrize("pack", [0, 5, 20])
@given(questions)
def test_every_question_is_asked_once_and_attends_to_its_own_tokens(pack: int, asked: list[Question]) -> None:
    by_digest = {q.digest: q for q in asked}
    found = []
    for batch in plan_batches(asked, "causal", 64, BatchLayout(pack=pack, shares_prefixes=True)):
        for row in batch:
            assert len(row.ids) <= max(pack, LARGEST_TREE)
            for q, places in row.reads:
                for place, position in ((place, places[place]) for place, _ in q.wanted):
                    assert seen_by(row, position) == q.ids[: place + 1]
                    assert not row.depths or row.depths[position] == place
                found.append(q.digest)
    assert sorted(found) == sorted(by_digest)


@given(questions)
def test_packed_inputs_of_a_masked_model_keep_their_tokens_and_positions(asked: list[Question]) -> None:
    found = []
    for batch in plan_batches(asked, "masked", 64, BatchLayout(pack=16, shares_prefixes=True)):
        for row in batch:
            assert len(row.ids) <= 16
            for q, places in row.reads:
                for place, position in ((place, places[place]) for place, _ in q.wanted):
                    assert own_input(row, position) == (q.ids, place)
                found.append(q.digest)
    assert sorted(found) == sorted({q.digest for q in asked})


def test_packed_rows_have_almost_no_padding() -> None:
    rng = random.Random(1)
    asked = [Question(tuple(rng.choices(range(50), k=rng.randint(6, 30))), ((0, 1),)) for _ in range(2000)]
    layout = BatchLayout(pack=128)
    assert compute_padding_share(plan_batches(asked, "masked", 65536, layout), 65536, layout) < 0.01


@given(questions)
def test_asks_are_the_pairs_of_a_batch_in_order_and_their_numbers_become_answers(asked: list[Question]) -> None:
    for batch in plan_batches(asked, "masked", 64, SHARING):
        asks = NumberRequests.from_batch(batch)
        expected = [
            (line, place, token, read.question.want)
            for line, row in enumerate(batch)
            for read in row.reads
            for place, token in read.question.wanted
        ]
        assert list(zip(asks.lines, asks.positions, asks.tokens, asks.wants, strict=True)) == expected
        numbers = np.float32([asks.tokens, asks.positions])
        for digest, answer in split_by_question(batch, numbers).items():
            q = next(q for q in asked if q.digest == digest)
            tokens, places = [token for _, token in q.wanted], [place for place, _ in q.wanted]
            assert answer.tolist() == (tokens + places if WANTS[q.want] == 2 else tokens)


@given(questions, st.randoms(use_true_random=False))
def test_plans_do_not_depend_on_the_order_of_questions(asked: list[Question], rng: random.Random) -> None:
    shuffled = list(asked)
    rng.shuffle(shuffled)
    for kind in ("masked", "causal"):
        assert plan_batches(asked, kind, 40, SHARING) == plan_batches(shuffled, kind, 40, SHARING)


@given(questions, st.integers(1, 60))
def test_no_batch_of_several_rows_exceeds_the_limit(asked: list[Question], budget: int) -> None:
    for batch in plan_batches(asked, "masked", budget, SHARING):
        assert len(batch) == 1 or len(batch) * max(len(row.ids) for row in batch) <= budget


def test_one_input_with_three_candidates_is_one_row() -> None:
    asked = [Question((1, 2, 3), ((1, token),)) for token in (7, 8, 9)]
    (batch,) = plan_batches(asked, "masked", 100, SHARING)
    assert len(batch) == 1
    assert set(NumberRequests.from_batch(batch).tokens.tolist()) == {7, 8, 9}


def test_a_shared_prefix_is_sent_once_and_unread_tokens_are_not_sent() -> None:
    prefix = (1, 2, 3, 4)
    asked = [Question((*prefix, a, 9), ((3, a), (4, 9))) for a in (5, 6, 7)]
    ((tree,),) = plan_batches(asked, "causal", 100, SHARING)
    assert tree.ids == (1, 2, 3, 4, 5, 6, 7)  # the prefix once, each candidate's first token, and no final 9
    ((*rows,),) = plan_batches(asked, "causal", 100, BatchLayout())
    assert [row.ids for row in rows] == [(*prefix, 5), (*prefix, 6), (*prefix, 7)]


def test_a_long_prefix_is_shared_even_in_a_wider_row() -> None:
    context = tuple(range(50))
    asked = [Question((*context, a, a, a), ((50, a), (51, a))) for a in (5, 6, 7)]
    ((tree,),) = plan_batches(asked, "causal", 100, BatchLayout(pack=54, shares_prefixes=True))
    assert len(tree.ids) == 50 + 3 * 2
    # Sharing two tokens of eight does not justify a wider row.
    short = [Question((1, 2, *[a] * 6), ((7, a),)) for a in range(10, 15)]
    assert (
        max(
            len(row.ids)
            for batch in plan_batches(short, "causal", 100, BatchLayout(pack=16, shares_prefixes=True))
            for row in batch
        )
        <= 16
    )


def test_short_targets_are_packed_as_far_as_their_sources_allow() -> None:
    asked = [Question((0, 1, n), ((2, n),), source=(n,) * 40) for n in range(100)]
    rows = [
        row
        for batch in plan_batches(asked, "seq2seq", 4096, BatchLayout(pack=64, shares_prefixes=True))
        for row in batch
    ]
    assert sorted(source for row in rows for source in row.sources) == sorted(q.source for q in asked)
    # Eight tokens of sources per token of the row's width: twelve sources, although 21 targets would fit.
    assert {len(row.sources) for row in rows} == {12, 100 % 12}


def test_padding_is_below_three_percent_for_realistic_lengths() -> None:
    rng = random.Random(1)
    lengths = [max(5, round(rng.gauss(14, 4))) for _ in range(4000)]
    asked = [Question(tuple(rng.randrange(9) for _ in range(n)), ((0, 1),)) for n in lengths]
    assert compute_padding_share(plan_batches(asked, "masked", 1024, SHARING), 1024, BatchLayout()) < 0.03


def rows_of(asked: list[Question], kind: Kind = "causal", pack: int = 0) -> int:
    return sum(map(len, plan_batches(asked, kind, 1000, BatchLayout(pack=pack, shares_prefixes=True))))


def test_the_shortest_prefix_that_is_shared() -> None:
    for shared, rows in ((SHORTEST_SHARED_PREFIX, 1), (SHORTEST_SHARED_PREFIX - 1, 2)):
        assert rows_of([Question((*[1] * shared, a), ((shared, a),)) for a in (5, 6)]) == rows


def branches(shared: int, *own: int) -> list[Question]:
    """Inputs with `shared` common tokens, and these numbers of own tokens."""
    return [
        Question((*range(100, 100 + shared), *[a] * tokens), ((shared + tokens - 1, a),))
        for a, tokens in enumerate(own)
    ]


def test_the_largest_tree() -> None:
    shared = LARGEST_TREE - 10
    assert [rows_of(branches(shared, 5, more)) for more in (5, 6)] == [1, 2]


def test_a_tree_within_the_width_of_packed_rows_may_share_little() -> None:
    assert rows_of(branches(4, 8, 8), pack=20) == 1
    # Here the first is a row of its own, and the other two do not fit into one row either.
    assert rows_of(branches(4, 8, 9), pack=20) == 2


def test_a_wider_tree_must_share_half_of_an_input() -> None:
    assert [rows_of(branches(10, own, own), pack=12) for own in (10, 11)] == [1, 2]


@given(questions, st.data())
def test_tokens_keep_their_segments_in_packed_rows(asked: list[Question], data: st.DataObject) -> None:
    segments = [data.draw(st.sampled_from([(), (1,) * len(q.ids), (0, *[1] * (len(q.ids) - 1))])) for q in asked]
    paired = [Question(q.ids, q.wanted, segments=own) for q, own in zip(asked, segments, strict=True)]
    for batch in plan_batches(paired, "masked", 64, BatchLayout(pack=24, shares_prefixes=True)):
        for row in batch:
            everywhere = row.segments or (0,) * len(row.ids)
            assert len(everywhere) == len(row.ids)
            for q, places in row.reads:
                assert tuple(everywhere[place] for place in places) == (q.segments or (0,) * len(q.ids))


@pytest.mark.parametrize("pack", [0, 16])
@given(questions, st.data())
def test_inputs_keep_their_sources(pack: int, asked: list[Question], data: st.DataObject) -> None:
    sources = [(7,), (7, 8, 9), (1, 2, 3, 4, 5)]
    translated = [Question(q.ids, q.wanted, source=data.draw(st.sampled_from(sources))) for q in asked]
    found = []
    for batch in plan_batches(translated, "seq2seq", 64, BatchLayout(pack=pack, shares_prefixes=True)):
        for row in batch:
            assert len(row.sources) == max(1, len(row.lengths))
            starts = [sum(row.lengths[:number]) for number in range(len(row.sources))]
            for q, places in row.reads:
                own = max(number for number, start in enumerate(starts) if start <= places[0])
                assert row.sources[own] == q.source
                for place, _ in q.wanted:
                    assert seen_by(row, places[place]) == q.ids[: place + 1]
                found.append(q.digest)
    assert sorted(found) == sorted({q.digest for q in translated})


def translated(source: int, target: int, n: int = 30) -> list[Question]:
    """Two targets for each source; sources have up to two tokens more."""
    return [
        Question((number, *[t] * target), ((target, t),), source=(number,) * (source + number % 3))
        for number in range(n)
        for t in (1, 2)
    ]


def test_long_sources_are_batched_by_length() -> None:
    batches = plan_batches(translated(20, 3), "seq2seq", 100, BatchLayout())
    for batch in batches:
        sources = {row.sources[0] for row in batch}
        assert len({len(source) for source in sources}) == 1
        assert len(batch) == 2 * len(sources)  # the targets of a source are together
        assert sum(map(len, sources)) <= 4 * 100  # it is encoded in four steps
    assert len(batches) == 3


def test_sources_of_long_targets_are_batched_in_order() -> None:
    batches = plan_batches(translated(3, 20), "seq2seq", 10, BatchLayout())
    sizes = [sum(len(source) for source in {row.sources[0] for row in batch}) for batch in batches]
    assert sum(sizes) == sum(3 + n % 3 for n in range(30))
    assert all(36 <= size <= 4 * 10 for size in sizes[:-1])
    lengths = [len(row.sources[0]) for batch in batches for row in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_the_batch_of_an_encoder_decoder_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [Question((n,), ((0, n),), source=(n,) * 5) for n in range(30)]
    monkeypatch.setattr(module, "_MOST_TOKENS", 50)
    assert [len(batch) for batch in plan_batches(asked, "seq2seq", 1000, SHARING)] == [10, 10, 10]
    assert [len(batch) for batch in plan_batches(asked, "seq2seq", 5, SHARING)] == [4] * 7 + [2]


@pytest.mark.parametrize(("source", "target"), [(30, 2), (2, 12)])
def test_batches_of_packed_sources_are_limited_by_their_larger_side(source: int, target: int) -> None:
    too_long_to_be_packed = [Question((t,) * 30, ((29, 1),), source=(n,) * 30) for n in range(6) for t in range(10)]
    asked = translated(source, target, 200) + too_long_to_be_packed
    batches = plan_batches(asked, "seq2seq", 200, BatchLayout(pack=32))
    rows = [[max(sum(map(len, row.sources)), len(row.ids)) for row in batch] for batch in batches]
    assert all(sum(sides) <= 4 * 200 for sides in rows)
    total, widest = sum(map(sum, rows)), 10 * 30  # all targets of a source are in one batch
    assert 1 < len(batches) <= math.ceil(total / (4 * 200 - widest))


def test_packed_rows_with_about_as_many_source_tokens_are_in_one_batch() -> None:
    rng = random.Random(1)
    asked = [
        Question((0, *[n] * rng.randint(1, 20)), ((1, n),), source=(n,) * rng.randint(1, 40)) for n in range(1, 100)
    ]
    batches = plan_batches(asked, "seq2seq", 60, BatchLayout(pack=24, shares_prefixes=True))
    rows = [row for batch in batches for row in batch]
    totals = [sum(map(len, row.sources)) for row in rows]
    assert len(batches) > 2
    assert totals == sorted(totals, reverse=True)
    # Which are not those with the longest sources.
    longest = [max(map(len, row.sources)) for row in rows]
    assert longest != sorted(longest, reverse=True)


def test_attention_is_measured_in_unpacked_rows() -> None:
    asked = [Question((n, 2), ((0, 1),)) for n in range(4)]
    assert rows_of(asked, "masked", pack=8) == 1
    asked.append(Question((9, 2), ((0, 1),), want=WantedQuantity.LOG_PROB_AND_ATTENTION))
    assert rows_of(asked, "masked", pack=8) == 5


@given(questions, st.integers(1, 60))
def test_the_share_of_padding(asked: list[Question], budget: int) -> None:
    batches = plan_batches(asked, "masked", budget, SHARING)
    useful = sum(len(row.ids) for batch in batches for row in batch)
    sent = sum(len(batch) * max(len(row.ids) for row in batch) for batch in batches)
    assert compute_padding_share(batches, budget, BatchLayout()) == pytest.approx(1 - useful / sent)


def test_the_share_of_padding_of_no_batches() -> None:
    assert compute_padding_share([], 10, BatchLayout()) == 0


@pytest.mark.parametrize("pack", [0, 12])
def test_plans_with_segments_and_sources_do_not_depend_on_order(pack: int) -> None:
    rng = random.Random(1)
    asked = [Question(tuple(rng.choices(range(5), k=rng.randint(1, 9))), ((0, 1),)) for _ in range(60)]
    paired = [Question(q.ids, q.wanted, segments=(n % 2,) * len(q.ids)) for n, q in enumerate(asked)]
    of_sources = [Question(q.ids, ((len(q.ids) - 1, 3),), source=(n % 7,) * (1 + n % 3)) for n, q in enumerate(asked)]
    cases: list[tuple[Kind, list[Question]]] = [("masked", paired), ("causal", asked), ("seq2seq", of_sources)]
    for kind, given_questions in cases:
        shuffled = rng.sample(given_questions, len(given_questions))
        assert plan_batches(given_questions, kind, 40, BatchLayout(pack=pack, shares_prefixes=True)) == plan_batches(
            shuffled, kind, 40, BatchLayout(pack=pack, shares_prefixes=True)
        )


@pytest.mark.parametrize("kind", ["masked", "causal", "seq2seq"])
def test_an_input_that_is_alone_in_its_row_is_not_packed(kind: Kind) -> None:
    asked = [Question((1, 2, 3, 4, 5), ((4, 1),)), Question((7, 8, 9, 6, 5), ((4, 1),))]
    rows = [
        row for batch in plan_batches(asked, kind, 1000, BatchLayout(pack=7, shares_prefixes=True)) for row in batch
    ]
    assert len(rows) == 2
    assert not any(row.has_several_inputs for row in rows)
