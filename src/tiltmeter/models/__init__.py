"""Who answers: the protocol, and the models that transformers runs here. Needs torch, transformers and numpy alone."""
