"""The benchmark: the log-likelihood of the sentence with each word, for causal models."""

from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Benchmark, PartTrials, Score, Trial, UnsupportedPart
from tiltmeter.errors import UsageError
from tiltmeter.questions import Answer, Question, Tokenizer
from tiltmeter_blanks.form import BlankItem, filled

PROTOCOL = "likelihood"
ROLES = ("expected", "other")


def ask(part: str, items: Sequence[BlankItem], text: Tokenizer, *, protocol: str) -> PartTrials:  # noqa: ARG001
    """Turn items into questions for the log-probability of every token of the two sentences."""
    if protocol not in ("published", PROTOCOL):
        raise UsageError(f"There is no protocol {protocol!r} for blanks; choose {PROTOCOL}.")
    if text.kind != "causal" or text.start is None:
        raise UnsupportedPart("Whole sentences are compared, which needs a causal model.")
    asked = PartTrials("causal", PROTOCOL)
    for item in items:
        encoded = text.encode([filled(item, item.expected), filled(item, item.other)])
        questions = tuple(
            # The input begins with the start token, so the output at position i predicts token i of the sentence.
            Question((text.start, *sentence.ids[:-1]), tuple(enumerate(sentence.ids)))
            for sentence in encoded
        )
        asked.trials.append(Trial(item, questions, _scores(item)))
    return asked


def _scores(item: BlankItem):
    def score(answers: Sequence[Answer]) -> list[Score]:
        return [
            Score(f"{item.id}/{role}", role, float(answer.astype(float).sum()))
            for role, answer in zip(ROLES, answers, strict=True)
        ]

    return score


BENCHMARK = Benchmark(
    form="blanks",
    protocols={PROTOCOL: "the log-probability of the word in the blank"},
    measures="blanks",
    ask=ask,
)
