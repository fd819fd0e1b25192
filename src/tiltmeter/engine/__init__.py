"""Fast inference of local models: planning, batches, devices, storage. Needs only torch, transformers and numpy."""

# Part of the fingerprint of answers. Increase it when a change in `engine` changes answers by more than rounding, or
# changes the stored data.
ENGINE_VERSION = 6
