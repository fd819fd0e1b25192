"""A device other than the CPU: every tensor is made there. Torch's device without data shows one that is not."""

import pytest
import torch
import transformers

from tests.engine.asked import ANSWERERS, CPU, MODELS, kind_of
from tests.models.tiny import VOCABULARY, made
from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.batch_plan import plan_batches
from tiltmeter.engine.batch_rows import NumberRequests
from tiltmeter.engine.next_sentence import NextSentenceAnswerer
from tiltmeter.engine.vocabulary_head import VocabularyHead
from tiltmeter.questions import Kind, Question, WantedQuantity

META = torch.device("meta")


def next_sentence() -> Answerer:
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24
    )
    return NextSentenceAnswerer(made(lambda: transformers.BertForNextSentencePrediction(config)), CPU)


def asked(kind: Kind) -> list[Question]:
    if kind == "next-sentence":
        return [Question((a, 5, 6, 7)[: 2 + a % 3], ((0, 0),), segments=(0, 1, 1, 1)[: 2 + a % 3]) for a in range(8)]
    source = (7, 8, 9) if kind == "seq2seq" else ()
    wants = [WantedQuantity.LOG_PROB, WantedQuantity.LOG_PROB_AND_TOP, WantedQuantity.LOGIT]
    return [
        Question((4, 5, a, *[6] * (a % 4)), ((1, a), (2, 3)), source=source[: a % 3 + 1], want=wants[a % 3])
        for a in range(12)
    ]


# Of packed rows alone: transformers looks at the values of the masks of others, and here there are none.
@torch.inference_mode()
@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "llama", "t5", "next-sentence"])
def test_all_tensors_are_on_the_device(name: str) -> None:
    answerer = next_sentence() if name == "next-sentence" else ANSWERERS[kind_of(name)](made(MODELS[name]), CPU)
    answerer.model.to(META)
    answerer.device = META
    batches = plan_batches(asked(answerer.kind), answerer.kind, 64, answerer.layout)
    for batch in batches:
        assert any(row.has_several_inputs for row in batch)
        numbers = answerer.compute_numbers(batch)
        assert (numbers.device, numbers.dtype) == (META, torch.float32)
        assert numbers.shape == (2, len(NumberRequests.from_batch(batch)))


@torch.inference_mode()
@pytest.mark.parametrize("way", ["_compute_log_probs_sliced", "_compute_log_probs_whole"])
def test_log_probabilities_are_on_the_device(way: str) -> None:
    states = torch.zeros((3, 40), dtype=torch.bfloat16, device=META)
    which = tokens = torch.zeros(5, dtype=torch.int64, device=META)
    for found in getattr(VocabularyHead(torch.nn.Identity()), way)(states, which, tokens):
        assert (found.device, found.dtype, found.shape) == (META, torch.float32, (5,))
