"""Next-sentence heads for models that have none: articles, sentence pairs, training."""
