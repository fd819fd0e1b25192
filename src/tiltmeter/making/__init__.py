"""Test sets in new languages: translate, repair, review, publish."""
