"""Forced choices for chat models: wordings, orders of the options, and the parsing of replies."""
