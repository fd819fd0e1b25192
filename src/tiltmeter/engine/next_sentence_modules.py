"""Modules that decide whether one sentence follows another: a core (a language model) with a trained head.

A module takes token ids, padded on the right, and the length of each input. It returns two logits for each input: "does
not follow" and "follows".
"""

import inspect
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

# The index of the logit for "follows".
FOLLOWS = 1


class _CoreModule(nn.Module):
    def __init__(self, core: nn.Module) -> None:
        super().__init__()
        self.core = core

    @property
    def config(self) -> Any:
        """The config of the core (the language model below the head)."""
        return self.core.config

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        """Let the core compute its activations again in the backward pass, which saves memory."""
        self.core.gradient_checkpointing_enable(**options)  # type: ignore[operator]


class MeanHead(_CoreModule):
    """A language model without output layer (the core), and linear layers on the mean of its last hidden states.

    Padding is not part of the mean. `masked`: the core is bidirectional, so that padding needs an attention mask.
    """

    def __init__(
        self, core: nn.Module, *, width: int, layers: Sequence[int] = (300, 300), activations: bool, masked: bool
    ) -> None:
        super().__init__(core)
        self.masked = masked
        widths = [width, *layers, 2]
        modules: list[nn.Module] = []
        for index, (before, after) in enumerate(pairwise(widths)):
            if index and activations:
                modules.append(nn.ReLU())
            modules.append(nn.Linear(before, after))
        self.head = nn.Sequential(*modules)
        taken = inspect.signature(core.forward).parameters
        self._options = {"use_cache": False} if "use_cache" in taken else {}
        # Some tokenizers return token types although the model has no token types or only one.
        self._has_token_types = "token_type_ids" in taken and (getattr(self.config, "type_vocab_size", 0) or 0) > 1

    def forward(
        self, input_ids: Tensor, lengths: Tensor, token_type_ids: Tensor | None = None, labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return a dictionary with `logits`, and with the cross-entropy `loss` if `labels` (1: follows) are given."""
        real = torch.arange(input_ids.shape[1], device=input_ids.device) < lengths[:, None]
        inputs: dict[str, Any] = {"input_ids": input_ids, **self._options}
        if self.masked:
            inputs["attention_mask"] = real.long()
        if token_type_ids is not None and self._has_token_types:
            inputs["token_type_ids"] = token_type_ids
        states = self.core(**inputs)[0]
        # The sum is computed in float32, because its error in half precision depends on the number of states.
        total = (states.float() * real[..., None]).sum(dim=1)
        logits = self.head((total / lengths[:, None]).to(self.head[0].weight.dtype)).float()
        return _build_output(logits, labels)


class LabelHead(_CoreModule):
    """An encoder-decoder that generates one of two label tokens; token types are ignored.

    `step` is the index of the decoding step whose logits are read. Step 0 is the step that is trained. The released
    code of Öztürk et al. (2023) reads step 1, after the most probable first token. `whole_vocabulary`: the loss is the
    cross-entropy over the whole vocabulary, as in the released code, instead of over the two labels.
    """

    def __init__(
        self, core: nn.Module, *, labels: tuple[int, int], start: int, step: int = 0, whole_vocabulary: bool
    ) -> None:
        super().__init__(core)
        self.step = step
        self.start = start
        self.whole_vocabulary = whole_vocabulary
        self.register_buffer("label_ids", torch.tensor(labels), persistent=False)

    def forward(
        self,
        input_ids: Tensor,
        lengths: Tensor,
        token_type_ids: Tensor | None = None,  # noqa: ARG002
        labels: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return a dictionary with `logits`, and with the cross-entropy `loss` if `labels` (1: follows) are given."""
        real = torch.arange(input_ids.shape[1], device=input_ids.device) < lengths[:, None]
        written = input_ids.new_full((len(input_ids), 1), self.start)
        inputs = {"attention_mask": real.long(), "use_cache": False}
        outputs = self.core(input_ids=input_ids, decoder_input_ids=written, **inputs)
        first = outputs.logits[:, -1].float()
        read = first
        if self.step and not self.training:
            encoded = (outputs.encoder_last_hidden_state,)
            written = torch.cat([written, first.argmax(dim=1, keepdim=True)], dim=1)
            read = self.core(encoder_outputs=encoded, decoder_input_ids=written, **inputs).logits[:, -1].float()
        ids: Tensor = self.label_ids  # type: ignore[assignment]
        output = _build_output(read[:, ids], labels)
        if labels is not None and self.whole_vocabulary:
            output["loss"] = cross_entropy(first, ids[labels])
        elif labels is not None and self.step:
            output["loss"] = cross_entropy(first[:, ids], labels)
        return output


def _build_output(logits: Tensor, labels: Tensor | None) -> dict[str, Tensor]:
    if labels is None:
        return {"logits": logits}
    return {"loss": cross_entropy(logits, labels), "logits": logits}
