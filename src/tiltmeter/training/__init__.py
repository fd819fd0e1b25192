"""Training of next-sentence heads: articles, sentence pairs, training and accuracy."""

# Imported first: it prevents libraries that transformers imports from printing to the terminal.
import tiltmeter.models  # noqa: F401
