"""Models: the protocol, local models of transformers, and endpoints. Needs only torch, transformers and numpy."""

import logging

# What these libraries log when PEFT and transformers import them, which they do wherever they are installed: that torch
# is too new, that a kernel was not found. A command that does not use them must not print it.
for _library in ("torch.utils._pytree", "torchao", "bitsandbytes"):
    logging.getLogger(_library).setLevel(logging.ERROR)
