"""Models: the protocol, local models of transformers, and endpoints. Needs only torch, transformers and numpy."""

import logging

# torchao, which transformers imports where it is installed, is warned by newer versions of torch, in several lines.
logging.getLogger("torch.utils._pytree").setLevel(logging.ERROR)
