"""Evaluation of a saved head on sentence pairs."""

from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.files import create_temporary_folder
from tiltmeter.models.local_opener import open_local_model
from tiltmeter.models.next_sentence_model import NextSentenceModel
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.progress.progress import ShowProgress, hide_progress
from tiltmeter.training.accuracy import Accuracy, compute_accuracies, compute_logits
from tiltmeter.training.pairs_files import read_pairs
from tiltmeter.training.tokenised_pairs import CHUNK, tokenise_pairs


@silence_transformers()
def evaluate_head(
    name: str,
    pairs: Path,
    *,
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
    watch: ShowProgress = hide_progress,
) -> list[Accuracy]:
    """Return the accuracy of a head on the held-out pairs in the folder `pairs`, for each language."""
    model = open_local_model(name, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
    if not isinstance(model, NextSentenceModel):
        raise UsageError(f"{name} is not a next-sentence head; train one with `tiltmeter train next-sentence`.")
    data = read_pairs(pairs)
    with create_temporary_folder() as folder:
        batches, total = data.held_out.to_batches(batch_size=CHUNK), data.held_out.count_rows()
        with watch("tokens") as report:
            tokens = tokenise_pairs(batches, folder / "t", model.text, model.head, total=total, report=report)
        if not len(tokens):
            raise UsageError(f"{data.folder} has no held-out pairs; create pairs from more articles.")
        module = model.get_answerer("next-sentence").model
        with watch(name) as report:
            return compute_accuracies(compute_logits(module, tokens, report=report), tokens)
