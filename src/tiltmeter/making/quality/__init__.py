"""The quality of translations: problems and proposals that people decide on, and the estimated quality of items."""
