"""How a local model answers fast: plan, batches, devices, store. Needs only torch, transformers and numpy."""

# Part of the fingerprint of answers. Raise it by hand whenever a change in `engine` changes answers by more than
# rounding, or changes what is stored.
ENGINE_VERSION = 6
