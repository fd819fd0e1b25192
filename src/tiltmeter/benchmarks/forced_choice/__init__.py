"""Items as forced choices for chat models: wordings, orders of the options, and how replies become outcomes."""
