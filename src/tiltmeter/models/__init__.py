"""Who answers: one file for each kind of model. Needs torch, transformers and numpy alone."""
