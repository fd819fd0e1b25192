"""A conformance suite: tiny models of every text architecture of transformers, scored by Tiltmeter and naively."""
