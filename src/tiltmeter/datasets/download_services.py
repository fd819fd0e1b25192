"""The services that data sets are downloaded from: GitHub, and the Hugging Face Hub.

Both serve the files of a repository at a pinned commit. The hub needs a token for data sets whose authors ask users to
accept their conditions first (gated data sets). The token is sent only to the hub, also after a redirect.
"""

import os
from urllib.parse import quote

from tiltmeter.datasets.upstream_files import UpstreamFile

GITHUB = "https://raw.githubusercontent.com"
# The statuses with which the hub answers a request without access.
NO_ACCESS = (401, 403)


def get_hub_address() -> str:
    """Return the address of the hub, which the environment variable `HF_ENDPOINT` can set."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def build_service_url(file: UpstreamFile) -> str:
    """Return the address of a file at its service.

    >>> from tiltmeter.datasets.upstream_files import Pin
    >>> build_service_url(UpstreamFile("owner/set", "c0ffee", "a b.jsonl", Pin("commit", ""), service="hub"))
    'https://huggingface.co/datasets/owner/set/resolve/c0ffee/a%20b.jsonl'
    """
    if file.service == "hub":
        return f"{_build_page(file)}/resolve/{file.commit}/{quote(file.path)}"
    return f"{GITHUB}/{file.repository}/{file.commit}/{quote(file.path)}"


def get_token(file: UpstreamFile) -> str | None:
    """Return the user's token for the service of a file; None if there is none or the service needs none."""
    if file.service != "hub":
        return None
    from huggingface_hub import get_token as get_hub_token  # the import takes a tenth of a second

    return get_hub_token()


def explain_missing_access(file: UpstreamFile, status: int | None, *, has_token: bool) -> str | None:
    """Return a sentence on how to get access to a file; None if the status of the answer has another cause."""
    if file.service != "hub" or status not in NO_ACCESS:
        return None
    page, login = _build_page(file), f"set HF_TOKEN to a token from {get_hub_address()}/settings/tokens"
    if not has_token:
        return (
            f"{file.repository} can be downloaded only with an account of the hub: accept its conditions on {page}, "
            f"then log in with `hf auth login`, or {login}."
        )
    return (
        f"The account of your token has no access to {file.repository}: accept its conditions on {page} with this "
        f"account, wait for approval if the authors require it, and check that the token is valid, or {login}."
    )


def _build_page(file: UpstreamFile) -> str:
    return f"{get_hub_address()}/datasets/{file.repository}"
