"""Training of next-sentence heads: reading articles, making sentence pairs, training, and measuring the accuracy."""

# This import must come first: it prevents libraries that transformers imports from printing to the terminal.
import tiltmeter.models  # noqa: F401
