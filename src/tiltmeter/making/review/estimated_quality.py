"""The estimated quality of items, by which a list of items can be sorted and filtered."""

from tiltmeter.making.project import Project


def read_estimated_quality(_project: Project) -> dict[str, float]:
    """Return the estimated quality of each item, from 0 to 1; empty if the project has no estimates.

    This is the only place at which the review reads estimates. Nothing estimates the quality yet.
    """
    return {}
