"""How a local model answers fast: plan, batches, devices, store. Needs torch, transformers and numpy alone."""
