"""The workloads: items, and both ways of scoring them, the published one and that of Tiltmeter.

A new benchmark needs its published way in a file like `published_pairs.py` and one entry here: the data sets of its
items, the `Benchmark` of Tiltmeter, and the published way for each kind of model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from perf import published_gest, published_pairs, published_way
from perf.items import STARTER
from perf.outcome import Outcome
from perf.published_way import PublishedModel
from tiltmeter.benchmarks import association, gest, pairs
from tiltmeter.benchmarks.benchmark import Benchmark, PartTrials, Score, Trial
from tiltmeter.forms import Item
from tiltmeter.models.checkpoint_model import CheckpointModel
from tiltmeter.questions import Kind

PublishedWay = Callable[[Sequence[Item], PublishedModel], Outcome]


@dataclass(frozen=True, slots=True)
class Workload:
    """A benchmark, or a part of it, with the published way for each kind of model.

    `candidates`: how many candidates a trial has, if each has its own questions (equally many each); their scores come
    first. `log_scores`: whether scores are sums or differences of logarithms.
    """

    name: str
    dataset: str
    starter: str
    part: str | None
    protocol: str
    benchmark: Benchmark
    published: Mapping[Kind, PublishedWay]
    candidates: int = 1
    log_scores: bool = False

    def ask(self, items: Sequence[Item], model: CheckpointModel) -> dict[str | None, PartTrials]:
        """Return the trials of Tiltmeter about the items, by part of a run."""
        return {
            part: self.benchmark.ask(part, items, model.text, protocol=self.protocol)
            for part in self.benchmark.parts(model.kind) or (self.part,)
        }

    def key(self, part: str | None, trial: Trial, score: Score) -> str:
        """Return the key of a score: the candidate, or part and item if all items have the same candidates."""
        return score.candidate if part == self.part else f"{part}/{trial.item.id}"


_INTRA = Workload(
    name="stereoset-intra",
    dataset="stereoset",
    starter=STARTER,
    part="intrasentence",
    protocol="published",
    benchmark=association.BENCHMARK,
    published={
        "masked": published_way.intrasentence_masked,
        "causal": published_way.intrasentence_causal,
        "seq2seq": published_way.intrasentence_seq2seq,
    },
)


def _intersentence(case: str) -> Workload:
    return replace(
        _INTRA,
        name=f"stereoset-inter/{case}",
        part="intersentence",
        protocol=f"published/{case}",
        published={"causal": partial(published_way.intersentence_causal, case=case)},
    )


_CASES = {f"stereoset-inter/{case}": _intersentence(case) for case in ("orig", "b", "c", "d", "e", "f")}
_INTER = replace(
    _CASES["stereoset-inter/d"],
    name="stereoset-inter",
    published={
        "masked": published_way.intersentence_next_sentence,
        "causal": _CASES["stereoset-inter/d"].published["causal"],
        "seq2seq": published_way.intersentence_seq2seq,
    },
)

_PAIRS = Workload(
    name="crows-pairs",
    dataset="crows-pairs",
    starter=f"{STARTER}-pairs",
    part=None,
    protocol="published",
    benchmark=pairs.BENCHMARK,
    published={"masked": published_pairs.pairs_masked},
    candidates=2,
    log_scores=True,
)
_PAIRS_EVERYWHERE = replace(
    _PAIRS,
    name="crows-pairs/everywhere",
    published={"masked": partial(published_pairs.pairs_masked, everywhere=True)},
)
_GEST = Workload(
    name="gest",
    dataset="gest",
    starter=f"{STARTER}-gest",
    part=None,
    protocol="published",
    benchmark=gest.BENCHMARK,
    published={"masked": published_gest.templates_masked, "causal": published_gest.templates_causal},
    log_scores=True,
)

WORKLOADS: dict[str, Workload] = {
    workload.name: workload for workload in (_INTRA, _INTER, *_CASES.values(), _PAIRS, _PAIRS_EVERYWHERE, _GEST)
}
