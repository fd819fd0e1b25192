"""Tiltmeter inside other tools: tasks for Inspect and the Language Model Evaluation Harness, and a callback."""
