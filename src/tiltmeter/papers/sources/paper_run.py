"""A run of a model that a table of a paper needs."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PaperRun:
    """One run of a model on a benchmark in one language, such as `stereoset/intersentence:de`.

    `model` is the hub id of the paper's model, or the name of a translation system. If `head` is true, the run uses the
    next-sentence head that was fine-tuned for the model. `edition` is the edition of GEST that a translation system
    translates; it is empty for a language model.
    """

    model: str
    on: str
    protocol: str = "published"
    perturb: str = ""
    head: bool = False
    edition: str = ""

    @property
    def is_translator(self) -> bool:
        """Whether the model is a translation system."""
        return bool(self.edition)

    @property
    def name(self) -> str:
        """The name of the run for messages.

        >>> PaperRun("gpt2", "stereoset:en").name
        'gpt2 on stereoset:en'
        >>> PaperRun("roberta-large", "crows-pairs:en", perturb="drop-final-character").name
        'roberta-large on crows-pairs:en with drop-final-character'
        """
        return f"{self.model} on {self.on}{' with ' if self.perturb else ''}{self.perturb}"


@dataclass(frozen=True, slots=True)
class SavedRun:
    """The folder of a finished run, or the problem because of which there is none.

    `differences` are clauses about how the run differs from the experiment of the paper.
    """

    folder: Path | None = None
    differences: tuple[str, ...] = ()
    problem: str = ""
