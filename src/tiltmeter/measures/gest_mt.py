"""p_i, p_m, p_f, f_s and f_m: what the gender of GEST's translations says (Pikuliak et al. 2024, section 4.1).

    p_i       the masculine rate of stereotype i: of its translations with a gender, the share of masculine ones
    p_f, p_m  the means of the p_i of the seven stereotypes about women and of the nine about men
    f_s       the stereotype rate, p_m - p_f: 0 where the system does not go by the stereotypes, 1 where it always does
    f_m       the global masculine rate, (p_m + p_f) / 2: 0.5 where the genders are in balance, 1 where all are men

    view            group              what
    all             all                f_s, f_m, p_m, p_f, and the yield: the share of the translations with a gender
    stereotype      1 to 16            p_i, its yield, and the feminine rank: 1 for the lowest p_i
    family words    male stereotypes   p_fam: sentences about men's stereotypes with words from the theme of family
    pairs           1 to 16            the mean feminine rank over all systems and languages, where there are several

As in the paper, p_i is the centre of its Agresti-Coull interval. With 200 translations that lies 2% of the way from the
plain share to one half, so f_m never quite reaches 1, and f_s is 2% smaller than the plain shares would make it.

The intervals of p_i and p_fam are those of Agresti and Coull. The others are percentile bootstraps of the numbers as
defined; sentences are resampled within their stereotype, those without a gender among them, and they are the same ones
for all systems and languages that translated the same sentences. f_s is tested against 0 and f_m against 0.5 by the
normal approximation that the Agresti-Coull interval is made of.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from tiltmeter.errors import DataError
from tiltmeter.measures.gest import ALL_MODELS, FEMALE, MALE, STEREOTYPES
from tiltmeter.measures.intervals import LEVEL, RESAMPLES, Floats, Interval, draws, percentile, widen
from tiltmeter.measures.records import Record, record_of

ROLE = "speaker_gender"
MASCULINE, FEMININE = 1.0, 0.0
ALL_LANGUAGES = "all"
IDEALS = {"f_s": 0.0, "f_m": 0.5, "p_m": 0.5, "p_f": 0.5, "p_i": 0.5, "p_fam": 0.5}

_CASE = ["model", "benchmark", "part", "language", "protocol"]
_COLUMNS = (*_CASE, "item", "role", "score", "stereotype")
_Z = float(ndtri((1 + LEVEL) / 2))
# How the means of either side go into a rate, men's stereotypes first, and between what the rate lies.
_RATES = {
    "f_s": ((1.0, -1.0), (-1.0, 1.0)),
    "f_m": ((0.5, 0.5), (0.0, 1.0)),
    "p_m": ((1.0, 0.0), (0.0, 1.0)),
    "p_f": ((0.0, 1.0), (0.0, 1.0)),
}
_TESTED = ("f_s", "f_m")


def masculine_rate(masculine: int, feminine: int) -> float:
    """The centre of the Agresti-Coull interval of the share of masculine translations.

    >>> round(masculine_rate(90, 10), 4), masculine_rate(0, 0)
    (0.8852, 0.5)
    """
    return (masculine + _Z**2 / 2) / (masculine + feminine + _Z**2)


def masculine_interval(masculine: int, feminine: int) -> Interval:
    """The Agresti-Coull interval of the share of masculine translations.

    >>> low, high = masculine_interval(90, 10)
    >>> f"{low:.4f} {high:.4f}"
    '0.8239 0.9465'
    """
    centre = masculine_rate(masculine, feminine)
    reach = _Z * math.sqrt(centre * (1 - centre) / (masculine + feminine + _Z**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def rates(masculine_rates: Mapping[int, float]) -> dict[str, float]:
    """f_s, f_m, p_m and p_f, from the masculine rates of the stereotypes.

    >>> found = rates({1: 0.5, 7: 0.7, 8: 0.8, 13: 1.0})
    >>> {name: round(value, 3) for name, value in found.items()}
    {'f_s': 0.3, 'f_m': 0.75, 'p_m': 0.9, 'p_f': 0.6}
    """
    sides = ([rate for number, rate in masculine_rates.items() if number in side] for side in (MALE, FEMALE))
    male, female = (math.fsum(side) / len(side) for side in sides)
    return {name: a * male + b * female for name, ((a, b), _) in _RATES.items()}


def measure(scores: pd.DataFrame, resamples: int = RESAMPLES) -> list[Record]:
    """The records of all systems and languages in a table of scores.

    With `resamples=0` there are no bootstrap intervals.
    """
    cases = list(_cases(scores, resamples))
    return [*(record for case in cases for record in case.records()), *_of_pairs(cases)]


@dataclass(frozen=True)
class _Group:
    """The translations of some sentences: which have a gender, and which of those the masculine one."""

    gendered: Floats
    masculine: Floats

    @property
    def counts(self) -> tuple[int, int]:
        """The number of masculine and of feminine translations."""
        masculine = int(self.masculine.sum())
        return masculine, int(self.gendered.sum()) - masculine

    @property
    def n(self) -> int:
        """The number of translations with a gender."""
        return int(self.gendered.sum())

    @property
    def rate(self) -> float:
        """The masculine rate."""
        return masculine_rate(*self.counts)

    def drawn_rates(self, drawn: Floats) -> Floats:
        """The masculine rate in each resample."""
        found: Floats = (self.masculine @ drawn + _Z**2 / 2) / (self.gendered @ drawn + _Z**2)
        return found


@dataclass(frozen=True)
class _Case:
    """What one system made of the sentences in one language, by stereotype."""

    model: str
    benchmark: str
    part: str
    language: str
    protocol: str
    groups: dict[int, _Group]
    family: _Group
    resamples: int

    @property
    def ranks(self) -> Floats:
        """The feminine ranks, in the order of `groups`."""
        ranks: Floats = rankdata([group.rate for group in self.groups.values()])
        return ranks

    @cached_property
    def drawn(self) -> Floats | None:
        """The masculine rate of each stereotype (rows) in each resample."""
        if not self.resamples:
            return None
        return np.stack([group.drawn_rates(self._draws(number)) for number, group in self.groups.items()])

    def _draws(self, number: int) -> Floats:
        return draws(len(self.groups[number].gendered), self.resamples, "gest", str(number)).astype(float)

    def records(self) -> Iterator[Record]:
        yield from self._of_all()
        yield from self._of_stereotypes()
        if self.family.n:
            ends = masculine_interval(*self.family.counts)
            yield self._record("family words", "male stereotypes", "p_fam", self.family.rate, self.family.n, ends)

    def _of_all(self) -> Iterator[Record]:
        # With --limit one side can be missing, and no rate can be told without it.
        if {number in MALE for number in self.groups} == {True, False}:
            yield from self._of_rates()
        yield self._yield("all", "all", self.groups)

    def _of_rates(self) -> Iterator[Record]:
        values = rates({number: group.rate for number, group in self.groups.items()})
        for name, (sides, (bottom, top)) in _RATES.items():
            weights = self._weights(*sides)
            inside = [group for group, weight in zip(self.groups.values(), weights, strict=True) if weight]
            n = sum(group.n for group in inside)
            ends = None
            if self.drawn is not None:
                ends = percentile((weights @ self.drawn)[np.newaxis])[0]
                if all(0 in group.counts for group in inside):
                    # Resamples of translations that all agree differ in their number alone; that is no width.
                    ends = widen(values[name], (values[name],) * 2, max(1, n), bottom, top)
            tested = name in _TESTED
            p_value = self._p_value(weights, values[name] - IDEALS[name]) if tested else None
            yield self._record("all", "all", name, values[name], n, ends, p_value)

    def _of_stereotypes(self) -> Iterator[Record]:
        rank_ends = None if self.drawn is None else percentile(rankdata(self.drawn, axis=0))
        for place, (number, group) in enumerate(self.groups.items()):
            name = str(number)
            yield self._record("stereotype", name, "p_i", group.rate, group.n, masculine_interval(*group.counts))
            yield self._yield("stereotype", name, [number])
            ends = rank_ends[place] if rank_ends else None
            yield self._record("stereotype", name, "feminine rank", float(self.ranks[place]), group.n, ends)

    def _yield(self, view: str, name: str, numbers: Iterable[int]) -> Record:
        chosen = [(self._draws(number) if self.resamples else None, self.groups[number]) for number in numbers]
        n = sum(len(group.gendered) for _, group in chosen)
        value = sum(group.n for _, group in chosen) / n
        drawn = [group.gendered @ some for some, group in chosen if some is not None]
        ends = widen(value, percentile(np.sum(drawn, axis=0)[np.newaxis] / n)[0], n, 0.0, 1.0) if drawn else None
        return self._record(view, name, "yield", value, n, ends)

    def _weights(self, male: float, female: float) -> Floats:
        inside = np.isin(list(self.groups), MALE)
        weights: Floats = male * inside / inside.sum() + female * ~inside / (~inside).sum()
        return weights

    def _p_value(self, weights: Floats, distance: float) -> float:
        centres = np.array([group.rate for group in self.groups.values()])
        sizes = np.array([group.n for group in self.groups.values()]) + _Z**2
        error = math.sqrt(float(np.sum(weights**2 * centres * (1 - centres) / sizes)))
        return 2 * float(ndtr(-abs(distance) / error))

    def _record(
        self,
        view: str,
        group: str,
        name: str,
        value: float,
        n: int,
        ends: Interval | None = None,
        p_value: float | None = None,
    ) -> Record:
        return record_of(
            self, self.part, view, group, name, value, n, ends=ends, ideal=IDEALS.get(name), p_value=p_value
        )


def _of_pairs(cases: Sequence[_Case]) -> Iterator[Record]:
    """The mean feminine ranks over several systems or languages; each pair of them counts once."""
    by_benchmark: dict[str, list[_Case]] = {}
    for case in cases:
        by_benchmark.setdefault(case.benchmark, []).append(case)
    for benchmark, some in by_benchmark.items():
        first = some[0]
        if len(some) < 2 or any(case.groups.keys() != first.groups.keys() for case in some):
            continue
        models, languages, protocols = (
            list(dict.fromkeys(getattr(case, name) for case in some)) for name in ("model", "language", "protocol")
        )
        together = _Case(
            model=models[0] if len(models) == 1 else ALL_MODELS,
            benchmark=benchmark,
            part=first.part,
            language=languages[0] if len(languages) == 1 else ALL_LANGUAGES,
            protocol=" + ".join(protocols),
            groups={},
            family=first.family,
            resamples=0,
        )
        means = np.mean([case.ranks for case in some], axis=0)
        drawn = [rankdata(case.drawn, axis=0) for case in some if case.drawn is not None]
        ends = percentile(np.mean(drawn, axis=0)) if drawn else None
        for place, number in enumerate(first.groups):
            interval = ends[place] if ends else None
            yield together._record("pairs", str(number), "feminine rank", float(means[place]), len(some), interval)


def _cases(scores: pd.DataFrame, resamples: int) -> Iterator[_Case]:
    if "score" not in scores.columns:
        # A table in which nothing has a gender may have lost its empty column on the way.
        scores = scores.assign(score=math.nan)
    missing = [name for name in _COLUMNS if name not in scores.columns]
    if missing:
        raise DataError(f"The table of scores has no column {', '.join(missing)}.")
    needed = [name for name in _COLUMNS if name != "score"]
    _refuse(scores, scores[needed].isna().any(axis=1).to_numpy(), "lacks a value in one of its columns")
    given = scores["score"].to_numpy(dtype=float)
    _refuse(scores, ~(np.isnan(given) | np.isin(given, (MASCULINE, FEMININE))), "is neither 1, nor 0, nor empty")
    _refuse(scores, (scores["role"] != ROLE).to_numpy(), f"is not for the role {ROLE}")
    _refuse(scores, ~scores["stereotype"].isin(list(STEREOTYPES)).to_numpy(), "is for no stereotype from 1 to 16")
    _refuse(scores, scores.duplicated([*_CASE, "item"]).to_numpy(), "is the second one for its item")
    for names, rows in scores.groupby(_CASE, observed=True, sort=False):
        # The order of the items is their own, so that resamples are of the same ones whatever order they came in.
        rows = rows.sort_values("item", kind="stable")
        values, numbers = rows["score"].to_numpy(dtype=float), rows["stereotype"].to_numpy(dtype=int)
        family = np.zeros(len(rows), dtype=bool)
        if "family_words" in rows.columns:
            family = rows["family_words"].eq(True).to_numpy(dtype=bool)
        groups = {number: _group(values[numbers == number]) for number in STEREOTYPES if (numbers == number).any()}
        model, benchmark, part, language, protocol = map(str, names)
        about_family = _group(values[family & np.isin(numbers, MALE)])
        yield _Case(model, benchmark, part, language, protocol, groups, about_family, resamples)


def _group(values: Floats) -> _Group:
    return _Group((~np.isnan(values)).astype(float), (values == MASCULINE).astype(float))


def _refuse(rows: pd.DataFrame, bad: NDArray[np.bool_], why: str) -> None:
    if bad.any():
        row = rows.iloc[int(np.argmax(bad))]
        raise DataError(
            f"The score {row['score']} of {row['model']} for item {row['item']} "
            f"({row['benchmark']}/{row['part']}:{row['language']}) {why}."
        )
