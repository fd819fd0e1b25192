"""Models: their protocol, local models of transformers, and models on servers. Needs torch, transformers and numpy."""

import logging

# PEFT and transformers import these libraries if they are installed, and the libraries log warnings on import. A
# command that does not use these libraries must not print their warnings.
for _library in ("torch.utils._pytree", "torchao", "bitsandbytes"):
    logging.getLogger(_library).setLevel(logging.ERROR)
