"""Make test sets in new languages: translate or write items, repair, review and publish them."""
