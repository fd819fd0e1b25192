"""Models that transformers runs on this machine: the base class of those in files and those in memory."""

import hashlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import torch
import transformers
from torch import nn

from tiltmeter.engine import ENGINE_VERSION
from tiltmeter.engine.answer_store import AnswerStore, LoadFindings
from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.device_workers import DeviceWorkers
from tiltmeter.engine.execution import OnProgress, answer_all
from tiltmeter.engine.input_limits import find_first_position, read_config_positions
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.next_sentence import NextSentenceAnswerer
from tiltmeter.engine.seq2seq import Seq2seqAnswerer
from tiltmeter.engine.speedups import ALL
from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.files import create_temporary_folder
from tiltmeter.models.architecture_facts import build_skeleton, collect_facts
from tiltmeter.models.hardware_usage import HardwareUsage
from tiltmeter.models.model_checks import reject_wrong_direction
from tiltmeter.models.placement import fits_on_device
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.questions import Answer, Kind, Question

ANSWERERS: dict[Kind, type[Answerer]] = {
    "masked": MaskedAnswerer,
    "causal": CausalAnswerer,
    "seq2seq": Seq2seqAnswerer,
    "next-sentence": NextSentenceAnswerer,
}
_LIBRARIES = (torch, transformers)


@dataclass(frozen=True, kw_only=True)
class LocalModel(ABC):
    """A transformers model and its tokenizer (see `tiltmeter.models.model_protocol.Model`).

    `without` names the speed-ups that are left out. `devices` names several devices to answer on at once, each with a
    whole copy of the model.
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
    # The modules of the checkpoint that were not loaded, once the weights are loaded.
    unused: dict[Kind, list[str]] = field(default_factory=dict, repr=False)
    _loaded: dict[Kind, Answerer] = field(default_factory=dict, repr=False)
    _workers: dict[Kind, DeviceWorkers] = field(default_factory=dict, repr=False)
    _usage: HardwareUsage = field(default_factory=HardwareUsage, repr=False)
    # Temporary folders, and files in them.
    _folders: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)

    @property
    @abstractmethod
    def weights(self) -> str:
        """A hash of the weights and of everything else that the model's answers depend on."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The size of the weights in bytes: of the files, or in memory."""

    @abstractmethod
    def _load_module(self, kind: Kind) -> nn.Module:
        """The model with the head for this kind of question, on its device, in evaluation mode."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of question that it answers; the first is its kind of language model."""
        return (self.kind, "next-sentence") if self.has_next_sentence_head else (self.kind,)

    @cached_property
    def text(self) -> TokenizerText:
        """Its tokenizer and special tokens."""
        return TokenizerText(self.tokenizer, self.config, self.kind, next_sentence=self.has_next_sentence_head)

    @property
    def used_devices(self) -> list[torch.device]:
        """The devices that it answers on."""
        return [self.device]

    @cached_property
    def skeleton(self) -> nn.Module | None:
        """The model without its weights; None if the code that comes with it cannot make that."""
        try:
            return build_skeleton(self.config, self.kind, trust_remote_code=self.trust_remote_code)
        except Exception:  # whatever that code raises: it may read a number from a tensor that holds none
            if self.trust_remote_code:
                return None
            raise

    @cached_property
    def vocabulary_size(self) -> int | None:
        """The number of tokens that it has embeddings for; None if its config does not say."""
        size = getattr(self.config.get_text_config(), "vocab_size", None)
        return size if isinstance(size, int) else None

    @cached_property
    def max_length(self) -> int | None:
        """The longest input, in tokens; None if there is no limit."""
        limit = read_config_positions(self.config)
        if limit is None:
            return None
        if self.skeleton is not None:
            return limit - find_first_position(self.skeleton)
        # Positions may begin after that of padding, as RoBERTa's do.
        padding = getattr(self.config, "pad_token_id", None)
        return limit - (padding + 1 if isinstance(padding, int) and 0 <= padding < limit // 2 else 0)

    def fingerprint(self, kind: Kind) -> str:
        """SHA-256 of everything that the model's answers depend on.

        Of torch and transformers the major and minor version: patch releases do not change numbers, and the manifest
        has the exact versions. Speed-ups change numbers only by rounding, but answers asked for without one are
        computed without it.
        """
        without = "plain" if self.without >= ALL else ",".join(sorted(self.without))
        versions = [f"{library.__name__} {_get_major_minor(library.__version__)}" for library in _LIBRARIES]
        parts = (self.weights, kind, str(self.dtype), *versions, f"engine {ENGINE_VERSION}", without)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def get_load_options(self) -> dict[str, Any]:
        """The options with which a worker process opens the same model; the device is its own."""
        return {"dtype": str(self.dtype).removeprefix("torch."), "without": self.without}

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprints; its use of hardware since the last call."""
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

    def measuring(self) -> AbstractContextManager[None]:
        """Count the time and energy within the context as spent on this model's answers."""
        return self._usage.measuring(self.used_devices)

    def get_answerer(self, kind: Kind) -> Answerer:
        """The loaded model. For another head the weights are loaded again, in place of these unless both are kept."""
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
        report: OnProgress,
    ) -> Mapping[bytes, Answer]:
        """The answers to all questions, by digest. The weights are loaded only if some are not stored yet."""
        try:
            with self.measuring():
                return self._answer(questions, kind=kind, store=store, names=names, report=report)
        except (TiltmeterError, OSError, sqlite3.Error):
            raise
        except Exception as error:
            # Of torch, transformers or code that comes with the model: sizes that do not fit, a device that fails.
            first, *_ = [*str(error).strip().splitlines(), ""]
            raise ModelError(
                f"{self.name} cannot answer: {type(error).__name__}{f' ({first[:300]})' if first else ''}; check its "
                "config and files, or try --plain or --device cpu. Answers that came before are kept."
            ) from error

    def _answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: OnProgress,
    ) -> Mapping[bytes, Answer]:
        answers = self._ask(questions, kind=kind, store=self._fresh or store, names=names, report=report)
        loader = self._workers.get(kind) or self._loaded.get(kind)
        if loader is not None:
            loading = LoadFindings(self.unused.get(kind, []), dict(loader.disabled))
            if loading != LoadFindings():
                store.put_loading(self.fingerprint(kind), loading)
        return answers

    def _ask(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: OnProgress,
    ) -> Mapping[bytes, Answer]:
        if len(self.devices) > 1:
            return self._get_device_workers(kind).answer(
                questions,
                kind=kind,
                fingerprint=self.fingerprint(kind),
                store=store,
                batch_tokens=self.batch_tokens,
                names=names,
                report=report,
            )
        return answer_all(
            questions,
            kind=kind,
            fingerprint=self.fingerprint(kind),
            load=partial(self.get_answerer, kind),
            store=store,
            batch_tokens=self.batch_tokens,
            names=names,
            report=report,
        )

    @cached_property
    def _fresh(self) -> AnswerStore | None:
        """Without any speed-up: a store of its own, since no stored answers are used then. Else None."""
        if not self.without >= ALL:
            return None
        folder = self._folders.enter_context(create_temporary_folder())
        return self._folders.enter_context(AnswerStore(folder / "answers.sqlite"))

    def _get_device_workers(self, kind: Kind) -> DeviceWorkers:
        """The processes that answer on several devices; those of another head are ended."""
        if kind not in self._workers:
            from tiltmeter.models.local_opener import build_device_loaders  # which imports this module

            self._end_workers()
            self._workers[kind] = DeviceWorkers(
                build_device_loaders(self.name, self.get_load_options(), kind, self.devices)
            )
        return self._workers[kind]

    def _end_workers(self) -> None:
        for workers in self._workers.values():
            workers.close()
        self._workers.clear()

    def close(self) -> None:
        """Free the memory of the weights, and remove what was written to temporary folders."""
        self._loaded.clear()
        self._end_workers()
        self._folders.close()
        self.__dict__.pop("_fresh", None)


def _get_major_minor(version: str) -> str:
    """The first two numbers of a version.

    >>> _get_major_minor("2.13.0+cpu")
    '2.13'
    """
    return ".".join(version.split(".")[:2])
