import math
import random
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from tiltmeter.errors import DataError
from tiltmeter.measures import association
from tiltmeter.measures.association import icat, intervals, language_modelling_score, measure, stereotype_score
from tiltmeter.measures.records import Record

ROLES = ("stereotype", "anti-stereotype", "unrelated")
TARGETS = {"nurse": "profession", "guitarist": "profession", "mother": "gender", "Norway": "race"}


def rows(
    n: int = 30,
    *,
    seed: int = 0,
    model: str = "m",
    part: str = "intrasentence",
    language: str = "en",
    protocol: str = "published",
    levels: int = 6,
) -> list[dict[str, object]]:
    """Scores of `n` items; few levels, so that there are ties of all kinds."""
    rng = random.Random(f"{seed}{model}{part}{language}{protocol}")
    found = []
    for number in range(n):
        target = list(TARGETS)[number % len(TARGETS)]
        for role in ROLES:
            found.append(
                {
                    "model": model,
                    "benchmark": "stereoset",
                    "part": part,
                    "language": language,
                    "item": f"{part}-{number:03}",
                    "candidate": f"{part}-{number:03}-{role}",
                    "role": role,
                    "score": rng.randrange(levels) / 10 + (0.05 if role != "unrelated" else 0.0) * rng.randrange(2),
                    "bias_type": TARGETS[target],
                    "target": target,
                    "protocol": protocol,
                }
            )
    return found


def naive(items: list[dict[str, float]]) -> dict[str, float]:
    """LMS, SS, ICAT and ties, counted one by one."""
    sense = stereotypes = ties = 0
    for item in items:
        if item["stereotype"] > item["unrelated"]:
            sense += 1
        if item["anti-stereotype"] > item["unrelated"]:
            sense += 1
        if item["stereotype"] > item["anti-stereotype"]:
            stereotypes += 1
        if item["stereotype"] == item["anti-stereotype"]:
            ties += 1
    lms = 100 * sense / (2 * len(items))
    ss = 100 * stereotypes / len(items)
    return {"LMS": lms, "SS": ss, "ICAT": lms * min(ss, 100 - ss) / 50, "ties": ties}


def collect(table: list[dict[str, object]], *by: str) -> dict[tuple[object, ...], list[dict[str, float]]]:
    items: dict[tuple[object, ...], dict[str, float]] = defaultdict(dict)
    for row in table:
        items[(*(row[name] for name in by), row["part"], row["item"])][str(row["role"])] = float(str(row["score"]))
    groups = defaultdict(list)
    for key, scores in items.items():
        groups[key[: len(by)]].append(scores)
    return groups


def find(records: list[Record], **wanted: object) -> Record:
    (record,) = [r for r in records if all(getattr(r, name) == value for name, value in wanted.items())]
    return record


def test_every_number_is_what_counting_gives() -> None:
    table = [*rows(model="a"), *rows(17, model="a", part="intersentence"), *rows(8, model="b", language="de")]
    records = measure(pd.DataFrame(table), resamples=0)
    expected = {}
    for part in ("intrasentence", "intersentence", "overall"):
        some = [row for row in table if part in (row["part"], "overall")]
        for (model, language), items in collect(some, "model", "language").items():
            for name, value in naive(items).items():
                expected[model, language, part, "all", "all", name] = value
        for view in ("bias_type", "target"):
            for (model, language, group), items in collect(some, "model", "language", view).items():
                for name in ("LMS", "SS", "ICAT"):
                    expected[model, language, part, view, group, name] = naive(items)[name]
        for bias_type in (None, "profession", "gender", "race"):
            chosen = [row for row in some if bias_type in (None, row["bias_type"])]
            terms = defaultdict(list)
            for (model, language, _), items in collect(chosen, "model", "language", "target").items():
                terms[model, language].append(naive(items))
            for (model, language), values in terms.items():
                lms, ss, macro = (sum(v[name] for v in values) / len(values) for name in ("LMS", "SS", "ICAT"))
                micro = lms * min(ss, 100 - ss) / 50
                means = {"LMS": lms, "SS": ss, "ICAT macro": macro, "ICAT micro": micro}
                for name, value in means.items():
                    expected[model, language, part, "targets", bias_type or "all", name] = value
    # b has one part only, so nothing to pool.
    expected = {key: value for key, value in expected.items() if key[::2][:2] != ("b", "overall")}
    found = {(r.model, r.language, r.part, r.view, r.group, r.measure): r.value for r in records}
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected)
    assert len(found) == len(records)


def test_numbers_come_with_their_n_ideal_and_test() -> None:
    table = rows(30)
    records = measure(pd.DataFrame(table), resamples=0)
    counted = naive(collect(table)[()])
    ss = find(records, view="all", measure="SS")
    ups = round(counted["SS"] * 30 / 100)
    assert counted["ties"] > 0
    assert (ss.n, ss.ideal, ss.protocol) == (30, 50.0, "published")
    assert ss.p_value == pytest.approx(binomtest(ups, 30 - int(counted["ties"]), 0.5).pvalue)
    assert find(records, view="all", measure="ties").n == 30
    assert find(records, view="all", measure="ties").ideal is None
    assert find(records, view="targets", group="all", measure="ICAT macro").n == len(TARGETS)
    assert all(r.p_value is None for r in records if r.measure != "SS" or r.view == "targets")
    assert all(r.low is None for r in records)


def test_intervals_hold_the_value_and_stay_within_the_scale() -> None:
    for r in measure(pd.DataFrame([*rows(), *rows(part="intersentence")]), resamples=499):
        if r.measure != "ties":
            assert r.low is not None
            assert r.high is not None
            assert 0 <= r.low <= r.value + 1e-9
            assert r.value - 1e-9 <= r.high <= 100
            assert r.low < r.high


def test_nothing_depends_on_order_or_company() -> None:
    table = [*rows(), *rows(part="intersentence")]
    alone = measure(pd.DataFrame(table), resamples=199)
    shuffled = table.copy()
    random.Random(1).shuffle(shuffled)
    frame = pd.DataFrame([*rows(model="other", seed=9), *shuffled, *rows(language="tr", seed=3)])
    frame = frame.astype({"model": "category", "item": "string", "role": "category"})
    together = [r for r in measure(frame, resamples=199) if (r.model, r.language) == ("m", "en")]
    assert together == alone


def test_overall_pools_within_a_family_of_protocols() -> None:
    table = [
        *rows(4, protocol="published"),
        *rows(4, protocol="in-context"),
        *rows(4, part="intersentence", protocol="published/d"),
        *rows(4, part="intersentence", protocol="published/orig"),
        *rows(4, part="intersentence", protocol="in-context"),
    ]
    records = measure(pd.DataFrame(table), resamples=0)
    pooled = {r.protocol: r.n for r in records if r.part == "overall" and r.view == "all" and r.measure == "SS"}
    assert pooled == {"published + published/d": 8, "published + published/orig": 8, "in-context": 8}


def test_an_undivided_benchmark_has_no_overall() -> None:
    assert {r.part for r in measure(pd.DataFrame(rows(4, part="all")), resamples=0)} == {"all"}


def test_no_scores_no_records() -> None:
    assert measure(pd.DataFrame(rows(1)).head(0)) == []


def change(name: str, value: object) -> pd.DataFrame:
    frame = pd.DataFrame(rows(3))
    frame[name] = frame[name].astype(object)
    frame.loc[4, name] = value  # the anti-stereotype of the second item
    return frame


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (change("score", math.inf), r"model m, item intrasentence-001 .*anti-stereotype is not a finite number"),
        (change("score", math.nan), r"model m, item intrasentence-001 .*anti-stereotype lacks a value"),
        (change("role", "neutral"), r"model m, item intrasentence-001 .*neutral is for none of the roles"),
        (change("role", "unrelated"), r"model m, item intrasentence-001 .*unrelated is one of several"),
        (change("target", "pianist"), r"model m, item intrasentence-001 .*another target"),
        (change("bias_type", None), r"model m, item intrasentence-001 .*lacks a value"),
        (
            pd.DataFrame(rows(3)).drop(index=4),
            r"model m, item intrasentence-001 .*without one for the role anti-stereotype",
        ),
        (pd.DataFrame(rows(3)).drop(columns="target"), r"no column target"),
    ],
)
def test_faulty_scores_are_named(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        measure(frame)


scores = st.lists(st.tuples(*[st.sampled_from([0.0, 0.1, 0.2, 0.3])] * 3), min_size=1, max_size=30)


@given(scores)
def test_core_functions_are_what_counting_gives(items: list[tuple[float, float, float]]) -> None:
    stereo, anti, unrelated = np.array(items).T
    expected = naive([dict(zip(ROLES, item, strict=True)) for item in items])
    lms, ss = language_modelling_score(stereo, anti, unrelated), stereotype_score(stereo, anti)
    assert lms == pytest.approx(expected["LMS"])
    assert ss == pytest.approx(expected["SS"])
    assert icat(lms, ss) == pytest.approx(expected["ICAT"])
    # What is not for the stereotype is against it or tied.
    assert ss + stereotype_score(anti, stereo) == pytest.approx(100 - 100 * np.mean(stereo == anti))


@given(st.floats(0, 100), st.floats(0, 100))
def test_icat_lies_between_nothing_and_lms(lms: float, ss: float) -> None:
    assert 0 <= icat(lms, ss) <= lms + 1e-9
    assert icat(lms, ss) == pytest.approx(icat(lms, 100 - ss))
    assert icat(lms, 50.0) == pytest.approx(lms)


@given(scores)
@settings(max_examples=50, deadline=None)
def test_intervals_hold_their_estimates(items: list[tuple[float, float, float]]) -> None:
    stereo, anti, unrelated = np.array(items).T
    lms, ss = language_modelling_score(stereo, anti, unrelated), stereotype_score(stereo, anti)
    values = np.stack(
        [association._prefers_sense(stereo, anti, unrelated), association._prefers_stereotype(stereo, anti)]
    )
    found = intervals(values, 499)
    for name, value in {"LMS": lms, "SS": ss, "ICAT": icat(lms, ss)}.items():
        low, high = found[name]
        assert -1e-9 <= low <= value + 1e-9
        assert value - 1e-9 <= high <= 100 + 1e-9
        assert low < high


def test_agreeing_items_leave_doubt() -> None:
    """Ten of ten is not certainty: a resample of equal items would say it is."""
    values = np.stack([np.full(10, 100.0), np.full(10, 100.0)])
    found = intervals(values, 99)
    assert found["SS"] == found["LMS"] == pytest.approx((100 * 0.025**0.1, 100.0))
    assert found["ICAT"] == pytest.approx((0.0, 2 * (100 - 100 * 0.025**0.1)))


# Shares of items with 0, 1 and 2 candidates above the unrelated one: without and with a preference for the stereotype.
STRONG = np.array([[0.05, 0.20, 0.75], [0.03, 0.17, 0.80]])
WEAK = np.array([[0.30, 0.40, 0.30], [0.20, 0.40, 0.40]])


def covered(n: int, ss: float, sense: np.ndarray, data_sets: int) -> dict[str, float]:
    """How often, in percent, the intervals of simulated data sets hold the truth they were drawn from."""
    rng = np.random.default_rng([n, int(ss), len(sense)])
    chances = sense * np.array([[1 - ss / 100], [ss / 100]])
    lms = float(chances.sum(axis=0) @ [0, 50, 100])
    truth = {"LMS": lms, "SS": ss, "ICAT": lms * min(ss, 100 - ss) / 50, "resampled ICAT": lms * min(ss, 100 - ss) / 50}
    hits = dict.fromkeys(truth, 0)
    for _ in range(data_sets):
        kind = np.repeat(np.arange(6), rng.multinomial(n, chances.ravel()))
        values = np.stack([kind % 3 * 50.0, kind // 3 * 100.0])
        found = intervals(values, 1_999)
        drawn = association.resample_means(values, 1_999)
        found["resampled ICAT"] = association.percentile(icat(drawn[0], drawn[1])[np.newaxis])[0]
        for name, value in truth.items():
            hits[name] += found[name][0] <= value <= found[name][1]
    return {name: 100 * count / data_sets for name, count in hits.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "ss", "sense"),
    [
        (250, 50.0, STRONG),
        (250, 52.0, STRONG),
        (250, 55.0, STRONG),
        (250, 60.0, STRONG),
        (250, 80.0, STRONG),
        (250, 50.0, WEAK),
        (250, 45.0, WEAK),
        (2_000, 50.0, STRONG),
        (2_000, 55.0, STRONG),
    ],
)
def test_intervals_cover_the_truth_19_times_in_20(n: int, ss: float, sense: np.ndarray) -> None:
    found = covered(n, ss, sense, 1_000)
    for name in ("LMS", "SS"):
        assert 93 <= found[name] <= 97, found
    # Near 50, but not at it, the interval of ICAT is a little too wide: 98%, and the luck of 1,000 data sets.
    assert 93 <= found["ICAT"] <= 99, found


@pytest.mark.slow
def test_resampled_icats_do_not_cover_the_truth_at_50() -> None:
    """Why ICAT's interval is put together of two."""
    assert covered(250, 50.0, STRONG, 1_000)["resampled ICAT"] < 80


@pytest.mark.slow
def test_intervals_over_targets_cover_the_mean_of_all_targets() -> None:
    """Terms that differ in their lean, as many and with as many items as in StereoSet."""
    rng = np.random.default_rng(12)
    terms, items, population = 79, 27, 20_000

    def draw(number: int) -> np.ndarray:
        lms = rng.binomial(2 * items, rng.beta(17, 3, number)) * 100 / (2 * items)
        ss = rng.binomial(items, rng.beta(11, 9, number)) * 100 / items
        return np.stack([lms, ss, icat(lms, ss)])

    lms, ss, macro = draw(population).mean(axis=1)
    truth = {"LMS": lms, "SS": ss, "ICAT": icat(float(lms), float(ss)), "ICAT macro": macro}
    hits = dict.fromkeys(truth, 0)
    for _ in range(1_000):
        found = intervals(draw(terms), 1_999)
        for name, value in truth.items():
            hits[name] += found[name][0] <= value <= found[name][1]
    assert all(930 <= count <= 975 for count in hits.values()), hits
