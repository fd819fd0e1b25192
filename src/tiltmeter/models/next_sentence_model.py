"""Models with a next-sentence head that Tiltmeter trained.

The head needs a core: the language model, without its output layer if the head reads hidden states. The folder of the
head contains the core that was trained together with the head, or an adapter that turns the base model into this core.
Only next-sentence questions use head and core; the unchanged base model answers all other questions.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any, Unpack

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import AutoModel, AutoModelForSeq2SeqLM

from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.next_sentence_modules import LabelHead, MeanHead
from tiltmeter.engine.trained_head import TrainedHeadAnswerer
from tiltmeter.errors import ModelError
from tiltmeter.models.adapters import Adapter, merge_adapter, split_adapter_name
from tiltmeter.models.checkpoint import EMBEDDED, Checkpoint, find_checkpoint
from tiltmeter.models.checkpoint_files import compute_files_digest, list_loaded_files, list_tokenizer_files
from tiltmeter.models.error_text import get_first_line
from tiltmeter.models.head_config import HEAD_FILE, HeadConfig, read_head
from tiltmeter.models.head_text import HeadText
from tiltmeter.models.local_model import AnswerOptions, LocalModel
from tiltmeter.models.model_checks import reject_extra_layers, reject_missing_tensors
from tiltmeter.models.quantization import use_declared_precision
from tiltmeter.models.steering import split_vector_name
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.questions import Answer, Kind, Question


def find_head(name: str, *, trust_remote_code: bool = False) -> tuple[Checkpoint, HeadConfig, str] | None:
    """Return the files of a trained head, its settings, and the name of its base model; None if `name` is not a head.

    For a name `BASE+HEAD`, BASE is returned instead of the base model in the settings.
    """
    steered_name, steering = split_vector_name(name)
    if steering is not None:
        if find_head(steered_name, trust_remote_code=trust_remote_code) is not None:
            raise ModelError(
                f"{steered_name} is a next-sentence head, to which no steering vector can be added; omit the vector."
            )
        return None
    base_name, explicit_head = split_adapter_name(name)
    head_name = explicit_head or name
    if head_name == EMBEDDED or head_name.endswith(".gguf"):
        return None
    checkpoint = find_checkpoint(head_name, trust_remote_code=trust_remote_code)
    head = read_head(head_name, checkpoint.folder)
    if head is None:
        return None
    if explicit_head:
        return checkpoint, head, base_name
    relative = checkpoint.folder / head.base
    return checkpoint, head, str(relative) if relative.exists() else _build_base_name(head)


def _build_base_name(head: HeadConfig) -> str:
    """Return the base model's name; a hub id gets the revision that was used in training (`id@revision`)."""
    if head.base == EMBEDDED or head.base_revision is None:
        return head.base
    return f"{head.base.partition('@')[0]}@{head.base_revision}"


@dataclass(frozen=True, kw_only=True)
class NextSentenceModel(LocalModel):
    """A model with a trained next-sentence head (see `HeadConfig`), and the base model from which it was trained.

    `open_base` opens the base model. The base model answers all questions except next-sentence questions. It is also
    needed if the core (the language model below the head) was saved as an adapter.
    """

    checkpoint: Checkpoint
    head: HeadConfig
    open_base: Callable[[], LocalModel]
    _opened_base: list[LocalModel] = field(default_factory=list, repr=False, compare=False)

    @property
    def base(self) -> LocalModel:
        """The base model; raises a ModelError if the base model is missing or is not the one used in training."""
        if not self._opened_base:
            try:
                base = self.open_base()
            except ModelError as error:
                raise ModelError(
                    f"The base model of the next-sentence head {self.name} was not found; name it as BASE+HEAD. "
                    "Without the base model, only stereoset/intersentence can be measured, and only if the head is not "
                    f"stored as an adapter. {error}"
                ) from error
            if base.weights != self.head.base_weights:
                raise ModelError(
                    f"The next-sentence head {self.name} was trained from {self.head.base} with other weights than "
                    f"those of {base.name}; name the base model that was used in training, as BASE+HEAD."
                )
            self._opened_base.append(base)
        return self._opened_base[0]

    @cached_property
    def text(self) -> HeadText:
        """The tokenizer, its special tokens, and the encoding of sentence pairs."""
        return HeadText(self.tokenizer, self.config, self.head)

    @cached_property
    def weights(self) -> str:
        """The SHA-256 of core, head, config and tokenizer; if the core is an adapter, also of the base model."""
        if not self.head.adapter:
            files = list_loaded_files(self.checkpoint, self.tokenizer, trust_remote_code=self.trust_remote_code)
            return compute_files_digest([*files, *self._head_files])
        files = [*self._adapter.files, *list_tokenizer_files(self.checkpoint.folder, self.tokenizer), *self._head_files]
        return hashlib.sha256(f"{compute_files_digest(files)}\n{self.base.weights}".encode()).hexdigest()

    @property
    def size(self) -> int:
        """The total size of the weight files in bytes."""
        core = self._adapter.files if self.head.adapter else self.checkpoint.weight_files
        return sum(file.stat().st_size for file in [*core, *self._head_files])

    def fingerprint(self, kind: Kind) -> str:
        """Return the fingerprint of the head for next-sentence questions, and of the base model for other questions.

        Therefore, answers that the base model gave in earlier runs are reused.
        """
        return super().fingerprint(kind) if kind == "next-sentence" else self.base.fingerprint(kind)

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run, without the model's name and fingerprints."""
        head = {"weights": self.weights, **self.head.to_json()}
        return {"revision": self.checkpoint.revision, **super().describe(), "base": self.head.base, "head": head}

    def get_load_options(self) -> dict[str, Any]:
        """Return the options with which a worker process opens the same model."""
        return {**super().get_load_options(), "trust_remote_code": self.trust_remote_code}

    def get_answerer(self, kind: Kind) -> Answerer:
        """Return the loaded head for next-sentence questions, and the loaded base model for other questions."""
        if kind != "next-sentence":
            self._loaded.clear()
            return self.base.get_answerer(kind)
        if kind not in self._loaded:
            if self._opened_base:
                self.base.close()
            self._loaded[kind] = TrainedHeadAnswerer(self._load_module(kind), self.device, self.without)
        return self._loaded[kind]

    def _answer(self, questions: Sequence[Question], **options: Unpack[AnswerOptions]) -> Mapping[bytes, Answer]:
        if options["kind"] == "next-sentence":
            return super()._answer(questions, **options)
        return self.base._answer(questions, **options)

    def close(self) -> None:
        """Free the memory of the weights, including the weights of the base model."""
        super().close()
        for base in self._opened_base:
            base.close()

    @silence_transformers()
    def _load_module(self, _kind: Kind) -> nn.Module:
        module = build_head_module(self._load_merged_core(), self.tokenizer, self.head)
        if isinstance(module, MeanHead):
            (path,) = self._head_files
            try:
                module.head.load_state_dict(load_file(path))
            except (RuntimeError, SafetensorError, OSError) as error:
                reason = str(error).strip().splitlines()[-1].strip()
                raise ModelError(f"{path} does not match the layers in config.json: {reason}") from error
        return module.to(self.device, self.dtype).eval()

    def _load_merged_core(self) -> nn.Module:
        if self.head.adapter:
            # The base model's own files are loaded, as in training.
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
            raise ModelError(f"{self.name} has no {HEAD_FILE} with its next-sentence head; download it again.")
        return [path]


def load_core(model: Any, head: HeadConfig, dtype: torch.dtype | None = None) -> nn.Module:
    """Load the core for a next-sentence head; if `head` reads hidden states, the core has no language-model head."""
    auto: Any = AutoModelForSeq2SeqLM if head.reading == "label" else AutoModel
    arguments: dict[str, Any] = {"config": model.config, "dtype": dtype or model.dtype}
    if head.reading == "mean" and _has_pooler(model.config):
        arguments["add_pooling_layer"] = False
    checkpoint: Checkpoint = model.checkpoint
    if checkpoint.gguf:
        arguments["gguf_file"] = checkpoint.gguf
    try:
        # The error stream is redirected, because transformers has no option to turn off the progress bar of GGUF files.
        with redirect_stderr(StringIO()) if checkpoint.gguf else nullcontext():
            core, info = auto.from_pretrained(
                str(checkpoint.folder),
                output_loading_info=True,
                trust_remote_code=model.trust_remote_code,
                **arguments,
            )
    except Exception as error:  # transformers and the model's own code raise many classes of errors
        raise ModelError(f"The weights of {model.name} could not be loaded: {get_first_line(error)}") from error
    reject_missing_tensors(model.name, info, "; download it again.")
    reject_extra_layers(model.name, core, info)
    use_declared_precision(core)
    loaded: nn.Module = core
    return loaded


def build_head_module(core: nn.Module, tokenizer: Any, head: HeadConfig) -> MeanHead | LabelHead:
    """Return a module of the core and a new head; the linear layers of the head have random weights."""
    if head.reading == "mean":
        width, is_bidirectional = _measure_states(core)
        if is_bidirectional and "attention_mask" not in inspect.signature(core.forward).parameters:
            raise ModelError(
                f"{head.base} is bidirectional but takes no attention mask, so its answers would depend on padding; "
                "choose another base model for a next-sentence head."
            )
        return MeanHead(core, width=width, layers=head.layers, activations=head.activations, masked=is_bidirectional)
    return LabelHead(
        core,
        labels=head.labels,
        start=find_decoder_start(tokenizer, core.config, head.base),
        step=head.step,
        whole_vocabulary=head.design == "published",
    )


def find_decoder_start(tokenizer: Any, config: Any, name: str) -> int:
    """Return the id of the token with which decoder inputs begin; `name` is the model's name in error messages."""
    start = TokenizerText(tokenizer, config, "seq2seq").decoder_start
    if start is None:
        raise ModelError(
            f"{name} has no decoder_start_token_id in its config and no padding or start token; add "
            "decoder_start_token_id to its config.json."
        )
    return start


def _measure_states(core: nn.Module) -> tuple[int, bool]:
    """Return the width of the last hidden states, and whether they depend on later tokens.

    Both are measured with a small input, because the config does not contain them: some models project the states to
    another width than `hidden_size`, and some models listed as causal, such as XLNet, are bidirectional.
    """
    training = core.training
    with torch.no_grad():
        device = next(core.parameters()).device
        states = core.eval()(input_ids=torch.tensor([[1, 2, 2], [1, 0, 1]], device=device))[0]
    core.train(training)
    return int(states.shape[-1]), not torch.equal(states[0, 0], states[1, 0])


def _has_pooler(config: Any) -> bool:
    """Return whether transformers adds a pooler to this type of model unless `add_pooling_layer` is False."""
    mapping: Any = AutoModel._model_mapping
    found = mapping.get(type(config), None)
    return found is not None and "add_pooling_layer" in inspect.signature(found.__init__).parameters
