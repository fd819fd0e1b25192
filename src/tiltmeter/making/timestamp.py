"""The format of times in the database of a project and in its published editions."""

from datetime import UTC, datetime


def get_timestamp() -> str:
    """Return the current time in UTC in ISO format."""
    return datetime.now(UTC).isoformat(timespec="seconds")
