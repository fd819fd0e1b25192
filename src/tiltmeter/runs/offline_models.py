"""Open models for a forecast: without requests to the Hugging Face hub, and only if their files are on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager

from tiltmeter.models.checkpoint import EMBEDDED
from tiltmeter.text_files import expand_home


@contextmanager
def disable_hub() -> Iterator[None]:
    """Prevent requests to the Hugging Face hub, for example to find a newer version of a model."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def has_model_files(name: str) -> bool:
    """Return whether a model is on this machine: as a path, as the model shipped with Tiltmeter, or as a download."""
    from huggingface_hub import snapshot_download

    for part in [name] if expand_home(name).exists() else name.split("+"):
        if expand_home(part).exists() or part == EMBEDDED:
            continue
        model_id, _, revision = part.partition("@")
        try:
            snapshot_download(model_id, revision=revision or None, local_files_only=True)
        except Exception:
            # The model is not downloaded, or its name is not a hub id.
            return False
    return True
