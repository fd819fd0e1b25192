"""The base class of models that transformers runs on this machine, loaded from files or already in memory."""

import hashlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypedDict, Unpack

import torch
import transformers
from torch import nn

from tiltmeter.engine import ENGINE_VERSION
from tiltmeter.engine.answer_store import AnswerStore, LoadFindings
from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.device_workers import DeviceWorkers
from tiltmeter.engine.execution import answer_all
from tiltmeter.engine.input_limits import find_first_position, read_config_max_length
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.next_sentence import NextSentenceAnswerer
from tiltmeter.engine.seq2seq import Seq2seqAnswerer
from tiltmeter.engine.speedups import ALL
from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.files import create_temporary_folder
from tiltmeter.models.architecture_facts import build_skeleton, collect_facts
from tiltmeter.models.device_placement import fits_on_device
from tiltmeter.models.error_text import describe_error
from tiltmeter.models.hardware_usage import HardwareUsage
from tiltmeter.models.model_checks import reject_wrong_direction
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.progress.progress import ReportProgress
from tiltmeter.questions import Answer, Kind, Question

ANSWERERS: dict[Kind, type[Answerer]] = {
    "masked": MaskedAnswerer,
    "causal": CausalAnswerer,
    "seq2seq": Seq2seqAnswerer,
    "next-sentence": NextSentenceAnswerer,
}
_LIBRARIES = (torch, transformers)
# A function that takes a model's name, options, kind and devices. It returns one function for each device; a worker
# process calls this function to load the model.
LoadWorkers = Callable[[str, Mapping[str, Any], Kind, Sequence[str]], list[Callable[[], Answerer]]]


class AnswerOptions(TypedDict):
    """The keyword arguments of `tiltmeter.models.model_protocol.Model.answer`."""

    kind: Kind
    store: AnswerStore
    names: Mapping[bytes, str]
    report: ReportProgress


@dataclass(frozen=True, kw_only=True)
class LocalModel(ABC):
    """A transformers model and its tokenizer (see `tiltmeter.models.model_protocol.Model`).

    `without` contains the names of disabled speed-ups. `devices` contains the names of several devices to use at once;
    each device has a complete copy of the model. `load_workers` returns one function for each device, which loads the
    device's copy in a worker process.
    """

    name: str
    config: Any
    tokenizer: Any
    kind: Kind
    has_next_sentence_head: bool
    device: torch.device
    dtype: torch.dtype
    batch_tokens: int | None = None
    without: frozenset[str] = frozenset()
    devices: tuple[str, ...] = ()
    trust_remote_code: bool = False
    keep_heads: bool = False
    load_workers: LoadWorkers | None = field(default=None, repr=False, compare=False)
    # For each kind of question, the names of the modules that are in the checkpoint but not in the loaded model.
    unused: dict[Kind, list[str]] = field(default_factory=dict, repr=False)
    _loaded: dict[Kind, Answerer] = field(default_factory=dict, repr=False)
    _workers: dict[Kind, DeviceWorkers] = field(default_factory=dict, repr=False)
    _usage: HardwareUsage = field(default_factory=HardwareUsage, repr=False)
    # Closes open files and deletes temporary folders when the model is closed.
    _folders: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)

    @property
    @abstractmethod
    def weights(self) -> str:
        """A hash of the weights and of all other files and settings that the model's answers depend on."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The size of the weights in bytes, in files or in memory."""

    @abstractmethod
    def _load_module(self, kind: Kind) -> nn.Module:
        """Return the model with the head for this kind of question, on its device, in evaluation mode."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of question that the model answers, for example "masked"; the first is the model's own kind."""
        return (self.kind, "next-sentence") if self.has_next_sentence_head else (self.kind,)

    @cached_property
    def text(self) -> TokenizerText:
        """The tokenizer and its special tokens."""
        return TokenizerText(self.tokenizer, self.config, self.kind, next_sentence=self.has_next_sentence_head)

    @property
    def used_devices(self) -> list[torch.device]:
        """The devices that the model runs on."""
        return [self.device]

    @cached_property
    def skeleton(self) -> nn.Module | None:
        """The model with tensors that have a shape but no data; None if the code of the model needs data."""
        try:
            return build_skeleton(self.config, self.kind, trust_remote_code=self.trust_remote_code)
        except Exception:  # the model's code may read a number from a tensor without data
            if self.trust_remote_code:
                return None
            raise

    @cached_property
    def vocabulary_size(self) -> int | None:
        """The number of token embeddings; None if the config does not contain this number."""
        size = getattr(self.config.get_text_config(), "vocab_size", None)
        return size if isinstance(size, int) else None

    @cached_property
    def max_length(self) -> int | None:
        """The maximum length of an input in tokens; None if there is no limit."""
        limit = read_config_max_length(self.config)
        if limit is None:
            return None
        if self.skeleton is not None:
            return limit - find_first_position(self.skeleton)
        # Position ids may start after the padding index, as in RoBERTa; then fewer positions are available.
        padding = getattr(self.config, "pad_token_id", None)
        return limit - (padding + 1 if isinstance(padding, int) and 0 <= padding < limit // 2 else 0)

    def fingerprint(self, kind: Kind) -> str:
        """Return the SHA-256 of everything that the model's answers depend on.

        The hash includes the major and minor versions of torch and transformers (patch releases do not change answers),
        and the names of the disabled speed-ups (although speed-ups change answers only by rounding).
        """
        without = "plain" if self.without >= ALL else ",".join(sorted(self.without))
        versions = [f"{library.__name__} {_get_major_minor(library.__version__)}" for library in _LIBRARIES]
        parts = (self.weights, kind, str(self.dtype), *versions, f"engine {ENGINE_VERSION}", without)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def get_load_options(self) -> dict[str, Any]:
        """Return the options with which a worker process opens the same model; the device is not included."""
        return {"dtype": str(self.dtype).removeprefix("torch."), "without": self.without}

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run, with the time and energy used since the last call."""
        facts: dict[str, Any] = {"type": self.config.model_type}
        if self.skeleton is not None:
            facts = collect_facts(self.config, self.skeleton)
        return {
            **facts,
            "bytes": self.size,
            "kind": self.kind,
            "next_sentence_head": self.has_next_sentence_head,
            "chat_template": self.text.has_chat_template,
            "weights": self.weights,
            "device": str(self.device),
            "dtype": str(self.dtype).removeprefix("torch."),
            "compute": self._usage.describe_and_reset(self.used_devices),
        }

    def measure_hardware_usage(self) -> AbstractContextManager[None]:
        """Return a context in which time and GPU energy are measured and added to this model's hardware usage."""
        return self._usage.measure_usage(self.used_devices)

    def get_answerer(self, kind: Kind) -> Answerer:
        """Return the loaded model with the head for this kind of question; load it if necessary.

        Before loading, copies of the model with other heads are freed, unless `keep_heads` is set and the new copy fits
        on the device.
        """
        if kind not in self._loaded:
            if not (self.keep_heads and fits_on_device(self.size, self.device)):
                self._loaded.clear()
            module = self._load_module(kind)
            reject_wrong_direction(self.name, module, kind, self.device)
            self._loaded[kind] = ANSWERERS[kind](module, self.device, self.without)
        return self._loaded[kind]

    @silence_transformers()
    def answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: ReportProgress,
    ) -> Mapping[bytes, Answer]:
        """Return the answers to all questions as a dictionary; the keys are the digests of the questions.

        The weights are loaded only if at least one answer is not in `store`.
        """
        try:
            with self.measure_hardware_usage():
                return self._answer(questions, kind=kind, store=store, names=names, report=report)
        except (TiltmeterError, OSError, sqlite3.Error):
            raise
        except Exception as error:
            # torch, transformers and the model's own code raise many classes of errors, such as for wrong tensor sizes.
            raise ModelError(
                f"{self.name} cannot answer: {describe_error(error)}; check its config and files, or try --plain or "
                "--device cpu. Earlier answers are kept."
            ) from error

    def _answer(self, questions: Sequence[Question], **options: Unpack[AnswerOptions]) -> Mapping[bytes, Answer]:
        kind, store = options["kind"], options["store"]
        options["store"] = self._temporary_store or store
        fingerprint = self.fingerprint(kind)
        if len(self.devices) > 1:
            workers = self._get_device_workers(kind)
            answers = workers.answer(questions, fingerprint=fingerprint, batch_tokens=self.batch_tokens, **options)
        else:
            load = partial(self.get_answerer, kind)
            answers = answer_all(
                questions, fingerprint=fingerprint, load=load, batch_tokens=self.batch_tokens, **options
            )
        loader = self._workers.get(kind) or self._loaded.get(kind)
        if loader is not None:
            loading = LoadFindings(self.unused.get(kind, []), dict(loader.disabled))
            if loading != LoadFindings():
                store.put_load_findings(fingerprint, loading)
        return answers

    @cached_property
    def _temporary_store(self) -> AnswerStore | None:
        """A temporary store if all speed-ups are disabled, so that all answers are computed again; otherwise None."""
        if not self.without >= ALL:
            return None
        folder = self._folders.enter_context(create_temporary_folder())
        return self._folders.enter_context(AnswerStore(folder / "answers.sqlite"))

    def _get_device_workers(self, kind: Kind) -> DeviceWorkers:
        """Return the worker processes, one per device, for this kind of question; end the processes for other kinds."""
        if kind not in self._workers:
            if self.load_workers is None:
                raise ModelError(f"{self.name} cannot be loaded on several devices; pass its name, not a loaded model.")
            self._end_workers()
            self._workers[kind] = DeviceWorkers(
                self.load_workers(self.name, self.get_load_options(), kind, self.devices)
            )
        return self._workers[kind]

    def _end_workers(self) -> None:
        for workers in self._workers.values():
            workers.close()
        self._workers.clear()

    def close(self) -> None:
        """Free the memory of the weights, end worker processes, and delete temporary folders."""
        self._loaded.clear()
        self._end_workers()
        self._folders.close()
        self.__dict__.pop("_plain_store", None)


def _get_major_minor(version: str) -> str:
    """Return the major and minor numbers of a version.

    >>> _get_major_minor("2.13.0+cpu")
    '2.13'
    """
    return ".".join(version.split(".")[:2])
