"""Error messages for models on the Hugging Face Hub that are gated or private, or need a login."""

from collections.abc import Iterator


def build_access_hint(error: BaseException, hub_id: str, *, folder: str = "") -> str | None:
    """Return a message on how to get access to a model; None if the error has another cause than missing access.

    `folder` is the part before the model's id in the addresses of the hub, for example `datasets/` for data sets.
    """
    from huggingface_hub import constants, get_token
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    errors = list(_list_causes(error))
    page = f"{constants.ENDPOINT}/{folder}{hub_id.partition('@')[0]}"
    login = f"log in with `hf auth login`, or set HF_TOKEN to a token from {constants.ENDPOINT}/settings/tokens"
    # The errors of transformers can be recognised only by their messages.
    if any(isinstance(one, GatedRepoError) or "access a gated repo" in str(one) for one in errors):
        if get_token() is None:
            return f"{hub_id} is gated: accept its licence on {page}, then {login}."
        return (
            f"{hub_id} is gated, and the account of your token has no access: accept its licence on {page} with that "
            "account, wait for approval if the authors require it, and check that the token may read gated "
            "repositories."
        )
    if any(_get_status(one) == 401 and "credentials" in str(one).lower() for one in errors):
        return f"The hub does not accept your token, which may have expired: {login}."
    if any(isinstance(one, RepositoryNotFoundError) for one in errors):
        if get_token() is None:
            return f"{hub_id} does not exist on the hub, or is private: check the name; if it is private, {login}."
        return f"{hub_id} does not exist on the hub, or your token has no access: check the name and the page {page}."
    return None


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, its cause, the cause of this cause, and so on."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _get_status(error: BaseException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None
