"""Compare Tiltmeter with a slow reference implementation on tiny models of all text architectures of transformers."""
