"""Exact tests."""

from scipy.special import bdtr


def sign_test(ups: int, downs: int) -> float:
    """The two-sided exact binomial test of as many ups as downs.

    Ties belong to neither side and are left out: counted as downs they would be evidence for a preference that
    nobody showed. On the discordant items of two paired yes-or-no outcomes this is McNemar's exact test.

    >>> sign_test(9, 1)
    0.021484375
    >>> sign_test(0, 0)
    1.0
    """
    decided = ups + downs
    return min(1.0, 2 * float(bdtr(min(ups, downs), decided, 0.5))) if decided else 1.0
