"""Suppression of transformers' output in the terminal."""

import logging as python_logging
from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from transformers.utils import logging

# Libraries that transformers uses to load models.
_HELPERS = ("accelerate", "torchao", "peft", "bitsandbytes")


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Hide the progress bars and warnings of transformers in the context; they would break Tiltmeter's progress bar."""
    verbosity, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    hub_had_bars = not are_progress_bars_disabled()
    helpers = {name: python_logging.getLogger(name).level for name in _HELPERS}
    for name in helpers:
        python_logging.getLogger(name).setLevel(python_logging.ERROR)
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for name, level in helpers.items():
            python_logging.getLogger(name).setLevel(level)
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        # The progress bars of huggingface_hub are restored, because transformers changes them too.
        if hub_had_bars:
            enable_progress_bars()
        else:
            disable_progress_bars()
