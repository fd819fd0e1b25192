"""Fast inference with local models: planning, batches, devices, storage. Needs only torch, transformers and numpy."""

# The version is part of each answer's fingerprint. Increase it when a change in `engine` changes answers by more than
# rounding, or changes the stored data.
ENGINE_VERSION = 6
