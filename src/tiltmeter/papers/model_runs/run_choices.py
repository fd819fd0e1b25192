"""The user's choices for running the models of a paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tiltmeter.papers.sources.paper_run import PaperRun
from tiltmeter.translators import validate_system_name

# Models of the papers whose repositories do not say which tokenizer they use, with this tokenizer.
_TOKENIZERS = {"THUMT/mGPT": "google/mt5-base"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChoices:
    """How the models of a paper are loaded and run.

    `model_paths`, `head_paths` and `tokenizers` map hub ids of models to local folders (or, for tokenizers, other hub
    ids). For a translation system, `model_paths` has the name of another system. `articles` maps languages to the
    articles from which missing next-sentence heads are trained, as after `--articles` of `tiltmeter train pairs`.
    `limit` is the maximum number of items of each part and language, for a trial. `yes` accepts the cost of paid
    translation services.
    """

    model_paths: Mapping[str, str] = field(default_factory=dict)
    head_paths: Mapping[str, str] = field(default_factory=dict)
    tokenizers: Mapping[str, str] = field(default_factory=dict)
    articles: Mapping[str, str] = field(default_factory=dict)
    device: str = "auto"
    devices: tuple[str, ...] = ()
    dtype: str = "auto"
    limit: int | None = None
    yes: bool = False

    def get_model_name(self, run: PaperRun, trained: str = "") -> str:
        """Return the name from which the model of a run is opened, with its next-sentence head if the run uses it.

        `trained` is the folder of a head that is trained for the run.
        """
        path = self.model_paths.get(run.model, run.model)
        if not run.head:
            return path
        head = self.head_paths.get(run.model, trained)
        return f"{path}+{head}" if run.model in self.model_paths else head

    def get_tokenizer(self, model: str) -> str:
        """Return the tokenizer of a model, if it is not the one in the model's own folder; else an empty string."""
        default = "" if model in self.model_paths else _TOKENIZERS.get(model, "")
        return self.tokenizers.get(model, default)

    def build_options(self, run: PaperRun) -> dict[str, Any]:
        """Return the options of `tiltmeter run` for the model of a run, as a plan file contains them."""
        options: dict[str, Any] = {}
        if run.is_translator and not validate_system_name(self.get_model_name(run)).is_local:
            return options
        if not run.head and (tokenizer := self.get_tokenizer(run.model)):
            options["tokenizer"] = tokenizer
        if self.device != "auto":
            options["device"] = self.device
        if self.devices and not run.is_translator:
            options["devices"] = list(self.devices)
        if self.dtype != "auto":
            options["dtype"] = self.dtype
        return options

    def list_differences(self, run: PaperRun) -> list[str]:
        """Return how a run differs from the experiment of the paper, as clauses; empty if no difference is known."""
        found = []
        if run.model in self.model_paths:
            found.append(f"the weights were loaded from {self.model_paths[run.model]}")
        if run.head:
            head = self.head_paths.get(run.model)
            found.append(f"the next-sentence head is {head}" if head else "the next-sentence head was trained here")
        if run.model in self.tokenizers:
            found.append(f"the tokenizer is {self.tokenizers[run.model]}")
        if self.dtype != "auto":
            found.append(f"the weights have the data type {self.dtype}")
        if self.limit is not None:
            found.append(f"at most {self.limit} items of each part and language were used")
        return found
