"""What to do about models on the hub that not everybody may download: gated, private, or without a login."""

from collections.abc import Iterator


def build_access_hint(error: BaseException, hub_id: str, *, folder: str = "") -> str | None:
    """A sentence on how to get access to a model; None if that is not what an error is about.

    `folder` is the part of the hub's addresses before the id, which is `datasets/` for data sets.
    """
    from huggingface_hub import constants, get_token
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    found = list(_list_causes(error))
    page = f"{constants.ENDPOINT}/{folder}{hub_id.partition('@')[0]}"
    login = f"log in with `hf auth login`, or set HF_TOKEN to a token from {constants.ENDPOINT}/settings/tokens"
    # transformers has errors of its own, which only say so.
    if any(isinstance(one, GatedRepoError) or "access a gated repo" in str(one) for one in found):
        if get_token() is None:
            return f"{hub_id} is gated: accept its licence on {page}, then {login}."
        return (
            f"{hub_id} is gated, and the account of your token has no access to it: accept its licence on {page} with "
            "that account, wait until the authors let it in if they decide themselves, and check that the token may "
            "read gated repositories."
        )
    if any(_get_status(one) == 401 and "credentials" in str(one).lower() for one in found):
        return f"The hub does not accept your token, which may have expired: {login}."
    if any(isinstance(one, RepositoryNotFoundError) for one in found):
        if get_token() is None:
            return f"There is no {hub_id} on the hub, or it is private: check the name; if it is private, {login}."
        return (
            f"There is no {hub_id} on the hub, or the account of your token may not see it: check the name, and {page}."
        )
    return None


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """The error and those that it came from."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _get_status(error: BaseException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None
