"""Simulated data sets whose truth is known: do intervals cover it, do tests err as rarely as they say?"""
