"""Options for opening models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tiltmeter.options.option_field import define_option
from tiltmeter.options.option_values import ABOVE_ZERO, COUNT, DEVICES, FLAG, SIZES, TEXT, TEXT_FILE

if TYPE_CHECKING:
    from tiltmeter.questions import Kind

THINKING = ("on", "off")
# The data types in which weights can be loaded.
DTYPES = ("auto", "float32", "float16", "bfloat16")

# The options that make a variant of a chat model (`tiltmeter.models.chat_variant`).
VARIANT_OPTIONS = ("system_prompt", "persona", "thinking", "thinking_tokens")

# Each constant describes a group of models that an option applies to. `users` is the description of these models in
# messages, and `sources` are their values of `tiltmeter.models.scheme.Source`.
_LOCAL = {"users": "models on this machine", "sources": ("named",)}
_COMPUTED_HERE = {"users": "models on this machine", "sources": ("named", "loaded")}
_TOKENIZED_HERE = {"users": "models whose tokenizer is loaded here", "sources": ("named", "endpoint")}
_SERVED = {"users": "models behind a server", "sources": ("endpoint", "chat server")}
_CHAT = {"users": "chat models", "sources": ("named", "chat server")}
_ANY = {"users": "language models", "sources": ("named", "loaded", "endpoint", "chat server")}


def _list_kinds() -> Sequence[str]:
    from tiltmeter.questions import KINDS  # this module imports numpy, which is slow

    return KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options for opening a model.

    `cache` is a folder for files that are extracted from GGUF files. If a model has a next-sentence head, `keep_heads`
    keeps both this head and the language-model head in memory if the memory is large enough. This saves time if several
    runs use the model. The help texts below describe the other fields.
    """

    kind: "Kind | None" = define_option(
        None,
        "The kind of model, if its config file does not name it: `masked`, `causal` or `seq2seq`.",
        TEXT,
        choices=_list_kinds,
        changes_results=True,
        always_requested=True,
        **_COMPUTED_HERE,
    )
    device: str = define_option(
        "auto", "The device to run on: `auto`, `cpu`, `cuda`, `cuda:1` …", TEXT, for_translators=True, **_LOCAL
    )
    devices: tuple[str, ...] = define_option(
        (),
        "Use several devices in parallel: `0,1` for two GPUs, or `cpu,cpu`.",
        DEVICES,
        metavar="D,D…",
        in_plan=False,
        **_LOCAL,
    )
    dtype: str = define_option(
        "auto",
        "The data type of the weights: `auto`, `float32`, `float16` or `bfloat16`.",
        TEXT,
        choices=lambda: DTYPES,
        changes_results=True,
        always_requested=True,
        for_translators=True,
        **_LOCAL,
    )
    batch_tokens: int | None = define_option(
        None, "Maximum number of tokens per batch; by default chosen automatically.", COUNT, **_COMPUTED_HERE
    )
    trust_remote_code: bool = define_option(
        False,
        "Run code that comes with the model. Use only with models that you trust.",
        FLAG,
        for_translators=True,
        **_TOKENIZED_HERE,
    )
    quantize: str | None = define_option(
        None,
        "Quantise the weights when they are loaded.",
        TEXT,
        metavar="8bit|4bit",
        changes_results=True,
        **_LOCAL,
    )
    tokenizer: str | None = define_option(
        None,
        "A tokenizer to use instead of the model's own.",
        TEXT,
        metavar="FOLDER_OR_ID",
        changes_results=True,
        studio="Tokenizer, if it is not named like the model",
        **_TOKENIZED_HERE,
    )
    split: bool = define_option(
        False,
        "Split the model over all GPUs, main memory and disk; automatic if it does not fit on one device.",
        FLAG,
        **_LOCAL,
    )
    max_memory: Mapping[str, str] | None = define_option(
        None,
        "Split the model and limit the memory on each device: `0=10GiB,cpu=4GiB`.",
        SIZES,
        metavar="D=SIZE,…",
        **_LOCAL,
    )
    plain: bool = define_option(
        False,
        "Disable all speed-ups and recompute all answers: slower, same numbers up to rounding.",
        FLAG,
        changes_results=True,
        **_COMPUTED_HERE,
    )
    chat_template: bool = define_option(
        False,
        "Insert every text into the model's chat template, as the assistant's turn.",
        FLAG,
        changes_results=True,
        **_ANY,
    )
    system_prompt: str | None = define_option(
        None,
        "Chat models: a text file with a system prompt, which is sent before every message.",
        TEXT_FILE,
        metavar="FILE",
        changes_results=True,
        **_CHAT,
    )
    persona: str | None = define_option(
        None,
        "Chat models: a description of the role that the model plays, such as `You are a retired teacher.`; it follows "
        "the system prompt.",
        TEXT,
        metavar="TEXT",
        changes_results=True,
        **_CHAT,
    )
    thinking: str | None = define_option(
        None,
        "Chat models: turn thinking before the answer `on` or `off`; thinking needs a larger --max-tokens.",
        TEXT,
        choices=lambda: THINKING,
        changes_results=True,
        **_CHAT,
    )
    thinking_tokens: int | None = define_option(
        None,
        "Chat models: maximum length of the thinking in tokens, in addition to --max-tokens for the answer.",
        COUNT,
        changes_results=True,
        **_CHAT,
    )
    concurrency: int = define_option(16, "Servers: number of parallel requests.", COUNT, **_SERVED)
    per_minute: int | None = define_option(None, "Servers: maximum number of requests per minute.", COUNT, **_SERVED)
    timeout: float = define_option(300.0, "Servers: timeout of a request in seconds.", ABOVE_ZERO, **_SERVED)
    cache: Path | None = None
    keep_heads: bool = False
