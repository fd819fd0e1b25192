"""Compare Tiltmeter with a naive implementation on tiny models of all text architectures of transformers."""
