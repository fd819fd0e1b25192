"""Models with a next-sentence head that Tiltmeter trained.

The folder of the head holds the core that was trained with it, or an adapter of the base model. Within sentences the
base model answers, unchanged.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import AutoModel, AutoModelForSeq2SeqLM

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.execution import OnProgress
from tiltmeter.engine.next_sentence_modules import LabelHead, MeanHead
from tiltmeter.engine.trained_head import TrainedHeadAnswerer
from tiltmeter.errors import ModelError
from tiltmeter.models.adapters import Adapter, merge_adapter, split_adapter_name
from tiltmeter.models.checkpoint import EMBEDDED, Checkpoint, find_checkpoint
from tiltmeter.models.checkpoint_files import compute_files_digest, list_loaded_files, list_tokenizer_files
from tiltmeter.models.head_config import HEAD_FILE, HeadConfig, read_head
from tiltmeter.models.head_text import HeadText
from tiltmeter.models.local_model import LocalModel
from tiltmeter.models.model_checks import reject_extra_layers, reject_missing_tensors
from tiltmeter.models.quantization import use_declared_precision
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.questions import Answer, Kind, Question


def find_head(name: str, *, trust_remote_code: bool = False) -> tuple[Checkpoint, HeadConfig, str] | None:
    """The files of a trained head, what it is, and the name of its base model, which `BASE+HEAD` gives.

    None if the name is not that of a trained head.
    """
    base_name, given = split_adapter_name(name)
    head_name = given or name
    if head_name == EMBEDDED or head_name.endswith(".gguf"):
        return None
    found = find_checkpoint(head_name, trust_remote_code=trust_remote_code)
    head = read_head(head_name, found.folder)
    if head is None:
        return None
    if given:
        return found, head, base_name
    beside = found.folder / head.base
    return found, head, str(beside) if beside.exists() else _build_base_name(head)


def _build_base_name(head: HeadConfig) -> str:
    """The name of the base model; a hub id at the revision of the training, for a model there may change."""
    if head.base == EMBEDDED or head.base_revision is None:
        return head.base
    return f"{head.base.partition('@')[0]}@{head.base_revision}"


@dataclass(frozen=True, kw_only=True)
class NextSentenceModel(LocalModel):
    """A base model, and a core with a next-sentence head that was trained from it (see `HeadConfig`).

    `open_base` opens the base model, which is needed for all other questions and for a core that is an adapter of it.
    """

    checkpoint: Checkpoint
    head: HeadConfig
    open_base: Callable[[], LocalModel]
    _opened: list[LocalModel] = field(default_factory=list, repr=False, compare=False)

    @property
    def base(self) -> LocalModel:
        """The base model; raises ModelError if it is not there, or not the one that the head was trained from."""
        if not self._opened:
            try:
                base = self.open_base()
            except ModelError as error:
                raise ModelError(
                    f"The base model of the next-sentence head {self.name} was not found. It answers all other "
                    "questions than which sentence follows, and an adapter needs it; give it as BASE+HEAD, or measure "
                    f"stereoset/intersentence only. {error}"
                ) from error
            if base.weights != self.head.base_weights:
                raise ModelError(
                    f"The next-sentence head {self.name} was trained from other weights of {self.head.base} than those "
                    f"of {base.name}; give the base model that it was trained from as BASE+HEAD."
                )
            self._opened.append(base)
        return self._opened[0]

    @cached_property
    def text(self) -> HeadText:
        """Its tokenizer, special tokens and way to encode pairs."""
        return HeadText(self.tokenizer, self.config, self.head)

    @cached_property
    def weights(self) -> str:
        """SHA-256 of the core or adapter, the head, the config and the tokenizer; of the base model for an adapter."""
        if not self.head.adapter:
            files = list_loaded_files(self.checkpoint, self.tokenizer, trust_remote_code=self.trust_remote_code)
            return compute_files_digest([*files, *self._head_files])
        files = [*self._adapter.files, *list_tokenizer_files(self.checkpoint.folder, self.tokenizer), *self._head_files]
        return hashlib.sha256(f"{compute_files_digest(files)}\n{self.base.weights}".encode()).hexdigest()

    @property
    def size(self) -> int:
        """The size of the files with the weights, in bytes."""
        core = self._adapter.files if self.head.adapter else self.checkpoint.weight_files
        return sum(file.stat().st_size for file in [*core, *self._head_files])

    def fingerprint(self, kind: Kind) -> str:
        """The base model's own, so that its stored answers are found, unless the head answers."""
        return super().fingerprint(kind) if kind == "next-sentence" else self.base.fingerprint(kind)

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprints."""
        head = {"weights": self.weights, **self.head.to_json()}
        return {"revision": self.checkpoint.revision, **super().describe(), "base": self.head.base, "head": head}

    def get_load_options(self) -> dict[str, Any]:
        """The options with which a worker process opens the same model."""
        return {**super().get_load_options(), "trust_remote_code": self.trust_remote_code}

    def get_answerer(self, kind: Kind) -> Answerer:
        """The loaded head, or the base model."""
        if kind != "next-sentence":
            self._loaded.clear()
            return self.base.get_answerer(kind)
        if kind not in self._loaded:
            if self._opened:
                self.base.close()
            self._loaded[kind] = TrainedHeadAnswerer(self._load_module(kind), self.device, self.without)
        return self._loaded[kind]

    def _answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: OnProgress,
    ) -> Mapping[bytes, Answer]:
        if kind == "next-sentence":
            return super()._answer(questions, kind=kind, store=store, names=names, report=report)
        return self.base._answer(questions, kind=kind, store=store, names=names, report=report)

    def close(self) -> None:
        """Free the memory of the weights."""
        super().close()
        for base in self._opened:
            base.close()

    @silence_transformers()
    def _load_module(self, _kind: Kind) -> nn.Module:
        module = build_head_module(self._core(), self.tokenizer, self.head)
        if isinstance(module, MeanHead):
            (path,) = self._head_files
            try:
                module.head.load_state_dict(load_file(path))
            except (RuntimeError, SafetensorError, OSError) as error:
                reason = str(error).strip().splitlines()[-1].strip()
                raise ModelError(f"{path} does not hold the layers that config.json describes: {reason}") from error
        return module.to(self.device, self.dtype).eval()

    def _core(self) -> nn.Module:
        if self.head.adapter:
            # The base's files, opened by its own name, as in training.
            core = load_core(self.base, self.head)
            return merge_adapter(core, self._adapter, self.head.base)
        return load_core(self, self.head)

    @property
    def _adapter(self) -> Adapter:
        return Adapter(self.name, self.checkpoint.folder, self.checkpoint.revision)

    @property
    def _head_files(self) -> list[Path]:
        if self.head.reading == "label":
            return []
        path = self.checkpoint.folder / HEAD_FILE
        if not path.is_file():
            raise ModelError(f"{self.name} has no {HEAD_FILE}, which holds its next-sentence head; fetch it again.")
        return [path]


def load_core(model: Any, head: HeadConfig, dtype: torch.dtype | None = None) -> nn.Module:
    """The core of a model in files: without a language-model head if the hidden states are read."""
    auto: Any = AutoModelForSeq2SeqLM if head.reading == "label" else AutoModel
    arguments: dict[str, Any] = {"config": model.config, "dtype": dtype or model.dtype}
    if head.reading == "mean" and _has_pooler(model.config):
        arguments["add_pooling_layer"] = False
    checkpoint: Checkpoint = model.checkpoint
    if checkpoint.gguf:
        arguments["gguf_file"] = checkpoint.gguf
    try:
        # The progress bar of GGUF files cannot be turned off.
        with redirect_stderr(StringIO()) if checkpoint.gguf else nullcontext():
            core, info = auto.from_pretrained(
                str(checkpoint.folder),
                output_loading_info=True,
                trust_remote_code=model.trust_remote_code,
                **arguments,
            )
    except Exception as error:  # of transformers, or of code that comes with the model
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"The weights of {model.name} could not be loaded: {lines[0]}") from error
    reject_missing_tensors(model.name, info, "; fetch it again.")
    reject_extra_layers(model.name, core, info)
    use_declared_precision(core)
    loaded: nn.Module = core
    return loaded


def build_head_module(core: nn.Module, tokenizer: Any, head: HeadConfig) -> MeanHead | LabelHead:
    """The core with a head; its linear layers are new."""
    if head.reading == "mean":
        width, looks_ahead = _probe(core)
        if looks_ahead and "attention_mask" not in inspect.signature(core.forward).parameters:
            raise ModelError(
                f"{head.base} attends to both sides and takes no attention mask, so that its answers would depend on "
                "padding; it cannot be given a next-sentence head."
            )
        return MeanHead(core, width=width, layers=head.layers, activations=head.activations, masked=looks_ahead)
    return LabelHead(
        core,
        labels=head.labels,
        start=find_decoder_start(tokenizer, core.config, head.base),
        step=head.step,
        whole_vocabulary=head.design == "published",
    )


def find_decoder_start(tokenizer: Any, config: Any, name: str) -> int:
    """The token with which the decoder of an encoder-decoder starts; `name` is the model's, for errors."""
    start = TokenizerText(tokenizer, config, "seq2seq").decoder_start
    if start is None:
        raise ModelError(
            f"{name} has no decoder_start_token_id in its config, and no token for padding or for the start of a text; "
            "add decoder_start_token_id to its config.json."
        )
    return start


def _probe(core: nn.Module) -> tuple[int, bool]:
    """The width of the last hidden states, and whether they depend on tokens to the right.

    Some models project the states to another width than `hidden_size`; some that count as causal, such as XLNet,
    attend to both sides.
    """
    training = core.training
    with torch.no_grad():
        device = next(core.parameters()).device
        states = core.eval()(input_ids=torch.tensor([[1, 2, 2], [1, 0, 1]], device=device))[0]
    core.train(training)
    return int(states.shape[-1]), not torch.equal(states[0, 0], states[1, 0])


def _has_pooler(config: Any) -> bool:
    """Whether transformers' class of the core would add a pooler, which the mean does not use."""
    mapping: Any = AutoModel._model_mapping
    found = mapping.get(type(config), None)
    return found is not None and "add_pooling_layer" in inspect.signature(found.__init__).parameters
