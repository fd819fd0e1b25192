"""The benchmark: the log-probability of a sentence with `she` minus that with `he`, for causal models."""

from collections.abc import Callable, Sequence

from tiltmeter.benchmarks.benchmark import Benchmark, PartTrials, Score, Trial, UnsupportedPart
from tiltmeter.questions import Answer, Question, Tokenizer
from tiltmeter_occupations.form import OccupationItem, fill_blank

PROTOCOL = "likelihood"
ROLE = "she_over_he"


def ask(part: str, items: Sequence[OccupationItem], text: Tokenizer, *, protocol: str) -> PartTrials:  # noqa: ARG001
    """Turn items into questions for the log-probability of every token of the two sentences."""
    if text.kind != "causal" or text.start is None:
        raise UnsupportedPart("Whole sentences are compared, which needs a causal model.")
    asked = PartTrials("causal", PROTOCOL)
    for item in items:
        encoded = text.encode([fill_blank(item, "she"), fill_blank(item, "he")])
        questions = tuple(
            Question((text.start, *sentence.ids[:-1]), tuple(enumerate(sentence.ids))) for sentence in encoded
        )
        asked.trials.append(Trial(item, questions, _score(item)))
    return asked


def _score(item: OccupationItem) -> Callable[[Sequence[Answer]], list[Score]]:
    def score(answers: Sequence[Answer]) -> list[Score]:
        she, he = (float(answer.astype(float).sum()) for answer in answers)
        return [Score(item.id, ROLE, she - he)]

    return score


BENCHMARK = Benchmark(
    form="occupations",
    protocols={PROTOCOL: "the log-probability of the sentence with `she` minus that with `he`"},
    measures="occupations",
    ask=ask,
)
