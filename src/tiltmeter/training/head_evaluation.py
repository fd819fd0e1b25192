"""The accuracy of a finished head on sentence pairs."""

from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.files import create_temporary_folder
from tiltmeter.models.local_opener import open_local_model
from tiltmeter.models.next_sentence_model import NextSentenceModel
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.training.accuracy import Accuracy, compute_accuracies, compute_logits
from tiltmeter.training.pairs_files import read_pairs
from tiltmeter.training.tokenised_pairs import CHUNK, tokenise_pairs
from tiltmeter.training.training_tokens import Watch, ignore_progress


@silence_transformers()
def evaluate_head(
    name: str,
    pairs: Path,
    *,
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
    watch: Watch = ignore_progress,
) -> list[Accuracy]:
    """The accuracy of a head on the held-out pairs of a folder, by language."""
    model = open_local_model(name, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
    if not isinstance(model, NextSentenceModel):
        raise UsageError(f"{name} is no next-sentence head; `tiltmeter train next-sentence` trains one.")
    data = read_pairs(pairs)
    with create_temporary_folder() as folder:
        with watch("tokens", data.held_out.count_rows()) as told:
            tokens = tokenise_pairs(
                data.held_out.to_batches(batch_size=CHUNK), folder / "t", model.text, model.head, told=told
            )
        if not len(tokens):
            raise UsageError(f"{data.folder} has no held-out pairs; make pairs of more articles.")
        module = model.get_answerer("next-sentence").model
        with watch(name, len(tokens)) as told:
            return compute_accuracies(compute_logits(module, tokens, told=told), tokens)
