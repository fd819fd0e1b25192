"""Keep transformers from writing to the terminal, and restore its settings afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from transformers.utils import logging


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No progress bars and no messages below errors within the context: they would tear our own progress bar."""
    verbosity, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    hub_had_bars = not are_progress_bars_disabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        # transformers switches the bars of huggingface_hub together with its own.
        if hub_had_bars:
            enable_progress_bars()
        else:
            disable_progress_bars()
