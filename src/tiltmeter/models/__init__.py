"""Models: the protocol, local models of transformers, and endpoints. Needs only torch, transformers and numpy."""

import logging

# PEFT and transformers import these libraries if they are installed, and they log warnings on import. A command that
# does not use them must not print the warnings.
for _library in ("torch.utils._pytree", "torchao", "bitsandbytes"):
    logging.getLogger(_library).setLevel(logging.ERROR)
