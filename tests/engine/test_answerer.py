"""The base class of answerers: padded tensors, masks, and numbers from other devices."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.engine.asked import ANSWERERS, CPU, MODELS, kind_of
from tests.models.tiny import MASKED, VOCABULARY, made
from tiltmeter.engine import batch_size
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.attention_masks import build_tree_mask, to_additive_mask
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_plan import plan_batches
from tiltmeter.engine.batch_rows import Batch, Row, split_by_question
from tiltmeter.engine.execution import answer_all
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.speedups import ALL
from tiltmeter.questions import Question, WantedQuantity

NUMBERS = [[-1.5, -2.0, -0.25], [1.0, 0.0, 1.0]]


class Fixed(Answerer):
    """A model that always gives the same numbers."""

    kind = "masked"

    def compute_numbers(self, _batch: Batch) -> Tensor:
        return torch.tensor(NUMBERS)

    def check_and_speed_up(self, _without: Any) -> None:
        """Nothing: it cannot answer the checks."""


def fixed(device: str = "cpu", **config: Any) -> Fixed:
    """An answerer whose weights are on the CPU, whatever its `device`."""
    model: Any = nn.Linear(2, 2)
    model.config = SimpleNamespace(**config, get_text_config=SimpleNamespace)
    answerer = Fixed(model, CPU, ALL)
    answerer.device = torch.device(device)
    return answerer


class Pinned:
    """A stand-in for pinned memory: what is copied into it arrives when the event is waited for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tensors: list[Tensor] = []
        self._empty = torch.empty
        monkeypatch.setattr(torch, "empty", self.empty)
        monkeypatch.setattr(torch.cuda, "Event", lambda: self)

    def empty(self, *shape: Any, pin_memory: bool = False, **options: Any) -> Tensor:
        tensor = self._empty(*shape, **options)
        if pin_memory:
            self.tensors.append(tensor)
        return tensor

    def record(self) -> None:
        self._arriving = [tensor.clone() for tensor in self.tensors]
        self.lose()

    @torch.inference_mode()
    def synchronize(self) -> None:
        for tensor, arrived in zip(self.tensors, self._arriving, strict=True):
            tensor.copy_(arrived)

    @torch.inference_mode()
    def lose(self) -> None:
        for tensor in self.tensors:
            tensor.fill_(torch.nan)


@pytest.mark.parametrize("device", ["cpu", "mps", "xpu"])
def test_numbers_of_a_device_without_pinned_memory(device: str) -> None:
    assert fixed(device).answer_batch([]).tolist() == NUMBERS


def test_numbers_of_a_gpu_are_read_once_they_have_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = Pinned(monkeypatch)
    wait = fixed("cuda").start_batch([])
    assert len(pinned.tensors) == 1
    found = wait()
    pinned.lose()  # the memory serves the next batch
    assert found.tolist() == NUMBERS


def test_arrays_are_copied_to_a_gpu_through_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned, given = Pinned(monkeypatch), []

    def to(tensor: Tensor, device: torch.device, **_options: Any) -> Tensor:
        given.append(device.type)
        return tensor

    monkeypatch.setattr(Tensor, "to", to)
    sent = fixed("cuda").to_device(np.array([[1, 2], [3, 4]]))
    assert sent is pinned.tensors[0]
    assert given == ["cuda"]
    assert (sent.dtype, sent.tolist()) == (torch.int64, [[1, 2], [3, 4]])


def test_batches_are_prepared_ahead_only_for_a_gpu() -> None:
    assert Fixed(fixed().model, CPU, ALL).batches_ahead == 0
    assert Fixed(fixed().model, torch.device("meta"), ALL).batches_ahead > 0


def test_packed_rows_are_narrower_on_a_cpu_and_within_the_positions_of_the_model() -> None:
    assert fixed("cpu").compute_pack_width() < fixed("cuda").compute_pack_width()
    assert fixed("cpu").compute_pack_width() == fixed("cpu", max_position_embeddings=None).compute_pack_width()
    for device in ("cpu", "cuda"):
        assert fixed(device, max_position_embeddings=20).compute_pack_width() == 20
        assert fixed(device, max_position_embeddings=9999).compute_pack_width() == fixed(device).compute_pack_width()


def test_token_ids_are_padded_on_the_right() -> None:
    answerer = fixed()
    rows = [(7, 8), (5,), (1, 2, 3)]
    assert answerer.pad_rows(rows).tolist() == [[7, 8, answerer.pad], [5, answerer.pad, answerer.pad], [1, 2, 3]]
    mask = answerer.build_padding_mask(rows)
    assert mask is not None
    assert mask.tolist() == [[1, 1, 0], [1, 0, 0], [1, 1, 1]]
    assert answerer.build_padding_mask([(1, 2), (3, 4)]) is None


def test_positions_and_input_numbers_of_tokens_in_packed_rows() -> None:
    places, numbers = fixed().locate_packed_tokens([[2, 3], [1], [1, 1]])
    assert places.tolist() == [[0, 1, 0, 1, 2], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert numbers.tolist() == [[0, 0, 1, 1, 1], [2, -1, -1, -1, -1], [3, 4, -1, -1, -1]]


def test_a_token_attends_to_what_precedes_it_in_its_tree() -> None:
    answerer = fixed()
    # A common token, two that continue it, and a second input of one token; then a row with padding.
    rows = [Row((1, 2, 3, 4), depths=(0, 1, 1, 0), ends=(3, 2, 3, 4)), Row((5, 6, 7))]
    depths, ends = answerer.compute_depths_and_ends(rows)
    assert depths[0].tolist() == [0, 1, 1, 0]
    assert depths[1, :3].tolist() == [0, 1, 2]
    mask = to_additive_mask(build_tree_mask(ends), answerer.dtype)
    assert (mask.dtype, mask.shape) == (torch.float32, (2, 1, 4, 4))
    assert set(mask.unique().tolist()) == {0.0, torch.finfo(torch.float32).min}
    assert (mask[0, 0] == 0).int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    assert (mask[1, 0] == 0).int()[:3].tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    assert mask[1, 0, 3, 3] == 0  # padding sees itself: what sees nothing is no number


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5", "bart"])
def test_the_key_value_cache_is_off(name: str) -> None:
    for without in (ALL, ()):
        answerer: Any = ANSWERERS[kind_of(name)](made(MODELS[name]), CPU, without)
        with torch.inference_mode():
            assert answerer.model(**answerer.build_example_inputs()).past_key_values is None


def test_batches_are_smaller_if_logits_of_all_positions_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_size, "_measure_free_memory", lambda _device: 1 << 22)
    plain, projecting = (MaskedAnswerer(made(MASKED["bert"]), CPU, out) for out in (ALL, ()))
    assert plain.batch_tokens < projecting.batch_tokens


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_rows_of_one_and_of_several_inputs_in_one_batch(name: str) -> None:
    kind = kind_of(name)
    source = (5, 6) if kind == "seq2seq" else ()
    answerer = ANSWERERS[kind](made(MODELS[name]), CPU)
    two = [Question((5, 6, 7), ((2, 9),), source), Question((5, 6, 8, 9), ((3, 9), (1, 4)), source)]
    one = Question((4, 9, 17, 30, 3), ((4, 2), (1, 7)), source)
    ((several,),) = plan_batches(two, kind, 100, BatchLayout(pack=20, shares_prefixes=True))
    ((single,),) = plan_batches([one], kind, 100, BatchLayout(pack=20, shares_prefixes=True))
    assert (several.has_several_inputs, single.has_several_inputs) == (True, False)
    found = split_by_question([several, single], answerer.answer_batch([several, single]))
    alone = split_by_question([several], answerer.answer_batch([several])) | split_by_question(
        [single], answerer.answer_batch([single])
    )
    assert found.keys() == {question.digest for question in (*two, one)}
    for digest, answer in alone.items():
        np.testing.assert_allclose(found[digest], answer, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("without", [ALL, frozenset()], ids=["plain", "fast"])
def test_questions_with_different_wants_in_one_batch(without: frozenset[str]) -> None:
    answerer = MaskedAnswerer(made(MASKED["bert"]), CPU, without)
    ids = [(4, 9, 17, 30), (5, 6, 7), (44, 12, 8, 9)]
    asked = [
        Question(own, ((2, 11), (0, token)), want=want) for token, own in enumerate(ids, 20) for want in WantedQuantity
    ]
    asked += [Question(own, ((1, token),)) for own in ids for token in (3, VOCABULARY - 1)]
    found = answer_all(asked, kind="masked", fingerprint="f", load=lambda: answerer, store=AnswerStore(":memory:"))
    model = made(MASKED["bert"])
    model.set_attn_implementation("eager")
    for question in asked:
        with torch.no_grad():
            output = model(torch.tensor([question.ids]), output_attentions=True)
        logits = output.logits[0].double()
        attention = torch.stack(output.attentions).mean(dim=(0, 1, 2, 3))  # layers, rows, heads, attending positions
        places, tokens = [place for place, _ in question.wanted], [token for _, token in question.wanted]
        log_probs = torch.log_softmax(logits, dim=-1)[places, tokens].tolist()
        tops = [float(logits[place].argmax() == token) for place, token in question.wanted]
        expected = {
            WantedQuantity.LOG_PROB: log_probs,
            WantedQuantity.LOG_PROB_AND_TOP: log_probs + tops,
            WantedQuantity.LOG_PROB_AND_ATTENTION: log_probs + attention[places].tolist(),
            WantedQuantity.LOGIT: logits[places, tokens].tolist(),
        }[question.want]
        np.testing.assert_allclose(found[question.digest], expected, atol=1e-5, rtol=1e-5)
