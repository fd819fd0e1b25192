"""Next-sentence heads for models that have none: articles, sentence pairs, training, accuracy."""

# First of all, for it keeps libraries that transformers imports for training from the terminal.
import tiltmeter.models  # noqa: F401
