"""Fast inference with local models: planning, batches, devices, storage. Needs only torch, transformers and numpy."""

# The version is part of every model fingerprint, the key of stored answers. Increase it when a change in `engine`
# changes answers by more than rounding, or changes the format of stored answers.
ENGINE_VERSION = 6
