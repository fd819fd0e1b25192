"""Train the next-sentence head that a job of a matrix needs, before the job measures its cells."""

from pathlib import Path
from typing import Any

from filelock import FileLock

from tiltmeter.cluster.plan_file import PlannedModel
from tiltmeter.files import create_folder
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.training.training_folder import TrainingFolder


def is_trained(model: PlannedModel) -> bool:
    """Return whether the head of a model needs no training, or is trained already."""
    return model.training is None or TrainingFolder(Path(model.training["out"])).is_finished


def train_planned_head(model: PlannedModel, watch: ShowProgress) -> None:
    """Train the head of a model with the recipe of the papers; continue an interrupted training.

    Models whose heads are trained on the same articles share the sentence pairs.
    """
    if is_trained(model) or model.training is None:
        return
    from tiltmeter.training.article_sources import open_sources
    from tiltmeter.training.head_training import TrainingOptions, train_next_sentence
    from tiltmeter.training.pairs_creation import PairOptions, make_pairs

    training: dict[str, Any] = model.training
    pairs = Path(training["pairs"])
    create_folder(pairs.parent)
    with FileLock(f"{pairs}.lock"):
        if not pairs.is_dir():
            make_pairs(open_sources(training["articles"]), pairs, PairOptions(), watch=watch)
    options = TrainingOptions(design="published", tokenizer=training.get("tokenizer"))
    cpu = model.options.get("device") == "cpu"
    train_next_sentence(
        training["base"], pairs, Path(training["out"]), recipe="published", options=options, cpu=cpu, watch=watch
    )
