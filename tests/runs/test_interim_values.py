"""Interim values of an unfinished run."""

import math
from collections.abc import Callable
from pathlib import Path

from tests.models.chat_served import MadeChat, first
from tests.runs.chosen import association_file
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.interim_values import InterimValue, compute_interim_values


def test_values_are_computed_from_the_answered_items(causal: str) -> None:
    result = evaluate(causal, "starter/intrasentence:en", limit=12)
    some = sorted(set(result.scores["item"]))[:7]
    scores = result.scores[result.scores["item"].isin(some)]
    (value,) = compute_interim_values(scores, {"starter": "association"})
    by_item = {str(item): dict(zip(rows["role"], rows["score"], strict=True)) for item, rows in scores.groupby("item")}
    # A tie counts half.
    pairs = [(roles["stereotype"], roles["anti-stereotype"]) for roles in by_item.values()]
    won = [(towards > against) + (towards == against) / 2 for towards, against in pairs]
    assert (value.measure, value.items, value.part) == ("SS", 7, "intrasentence")
    assert math.isclose(value.value, 100 * sum(won) / 7)


def test_the_number_of_items_grows_with_every_batch(causal: str) -> None:
    seen: list[list[InterimValue]] = []

    def so_far(values: Callable[[], list[InterimValue]]) -> None:
        seen.append(values())

    result = evaluate(causal, "starter/intrasentence:en", limit=20, batch_tokens=64, so_far=so_far)
    items = [sum(value.items for value in values) for values in seen]
    assert items == sorted(items)
    assert items[0] == 0
    assert any(0 < count < 20 for count in items)
    final = next(r for r in result.records if r.measure == "SS" and r.view == r.group == "all" and r.part != "overall")
    (last,) = seen[-1]
    assert (last.value, last.items) == (final.value, final.n)


def test_items_of_a_chat_model_count_when_all_their_messages_are_answered(tmp_path: Path) -> None:
    seen: list[list[InterimValue]] = []

    def so_far(values: Callable[[], list[InterimValue]]) -> None:
        if len(seen) % 5 == 0:
            seen.append(values())
        else:
            seen.append(seen[-1])

    result = evaluate(MadeChat(first, "chat:made"), association_file(tmp_path, 8), so_far=so_far)
    assert len(seen) == 8 * 6
    assert seen[0] == []
    assert [value.items for value in seen[-1]] == [7]
    assert {value.measure for value in seen[-1]} <= {record.measure for record in result.records}
