"""The list of items with filters, sort orders and search, and decisions on identical proposals."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.making.review.identical_proposals import (
    BulkResult,
    ProposalGroup,
    decide_on_group,
    find_proposal_group,
    list_proposal_groups,
    preview_group,
)
from tiltmeter.making.review.review_list import PAGE, SORTS, ItemFilter
from tiltmeter.studio.pages.permissions import (
    VIA,
    build_form_route,
    can_adjudicate,
    get_settings,
    get_texts,
    parse_seconds,
    render_review,
    require_user_name,
    run_in_project,
    select_fields,
)
from tiltmeter.studio.project_threads import ProjectSession
from tiltmeter.studio.responses import parse_whole_number


def read_filter(request: Request, *, sees_all: bool) -> ItemFilter:
    """Return the filter in the query of a request; filters by the decisions of others are for adjudicators."""
    values = request.query_params
    texts = {name: values.get(name, "") for name in ("reason", "bias_type", "subject", "mine", "search")}
    if sees_all:
        texts |= {name: values.get(name, "") for name in ("state", "reviewer")}
    sort = values.get("sort", "")
    try:
        quality = float(values["quality"]) if values.get("quality") else None
    except ValueError as error:
        raise UsageError("The estimated quality must be a number from 0 to 1.") from error
    return ItemFilter(
        **texts,
        quality=quality,
        sort=sort if sort in SORTS else SORTS[0],
        is_descending=bool(values.get("descending")),
        start=parse_whole_number(values.get("start") or "0", "The position of the first item"),
    )


def _render_items(request: Request) -> Response:
    """Render the list with its filters; the query may contain values of the filters."""
    name, sees_all = require_user_name(request), can_adjudicate(request)
    chosen = read_filter(request, sees_all=sees_all)

    def list_items(session: ProjectSession) -> dict[str, Any]:
        items = session.review_list
        return {
            "values": items.count_values(sees_all=sees_all),
            "listing": items.list_items(name, chosen, sees_all=sees_all),
        }

    found = run_in_project(request, list_items)
    sorts = [one for one in SORTS if one != "quality" or found["listing"].has_quality]
    return _render_listing(request, "review_items.html.jinja", chosen=chosen, sorts=sorts, sees_all=sees_all, **found)


def _render_rows(request: Request) -> Response:
    name, sees_all = require_user_name(request), can_adjudicate(request)
    chosen = read_filter(request, sees_all=sees_all)
    listing = run_in_project(request, lambda session: session.review_list.list_items(name, chosen, sees_all=sees_all))
    return _render_listing(request, "review_items_list.html.jinja", listing=listing, sees_all=sees_all)


def _render_listing(request: Request, template: str, **values: Any) -> Response:
    return render_review(request, template, size=PAGE, language=get_settings(request).language, **values)


# The following functions are for identical proposals.


def _render_groups(request: Request) -> Response:
    name = require_user_name(request)

    def list_groups(session: ProjectSession) -> Any:
        return list_proposal_groups(session.review, session.review_list, name)

    groups = run_in_project(request, list_groups)
    return render_review(request, "review_groups.html.jinja", groups=groups, language=get_settings(request).language)


def _render_group(request: Request) -> Response:
    """Render the preview of identical proposals."""
    name, key = require_user_name(request), request.query_params.get("key", "")

    def preview(session: ProjectSession) -> dict[str, Any]:
        group = find_proposal_group(session.review, session.review_list, name, key)
        if group is None:
            raise UsageError(get_texts(request)("groups.gone"))
        return {"group": group, "previews": preview_group(session.review, session.review_list, group)}

    return _render_after_group(request, **run_in_project(request, preview))


def _render_after_group(request: Request, **values: Any) -> Response:
    language = get_settings(request).language
    return render_review(
        request, "review_group_next.html.jinja", **{"group": None, "notice": "", "language": language, **values}
    )


def _decide_on_group(request: Request, values: Mapping[str, str]) -> Response:
    """Store the decisions on the selected items, and render the list of identical proposals."""
    name, t, shown = require_user_name(request), get_texts(request), select_fields(values, "item:")
    if not shown:
        raise UsageError(t("groups.none_selected"))
    seconds = parse_seconds(values)

    def store_decisions(session: ProjectSession) -> tuple[BulkResult, list[ProposalGroup]]:
        session.review.add_reviewer(name)
        done = decide_on_group(
            session.review,
            session.review_list,
            name,
            values.get("key", ""),
            "keep" if values.get("choice") == "keep" else "use",
            shown,
            seconds=seconds,
            via=VIA,
        )
        return done, list_proposal_groups(session.review, session.review_list, name)

    done, groups = run_in_project(request, store_decisions)
    notice = t("groups.stored", count=len(done.stored))
    if done.refused:
        reason = t.isolate(next(iter(done.refused.values())))
        notice = Markup(" ").join([notice, t("groups.refused", count=len(done.refused), reason=reason)])
    return _render_after_group(request, groups=groups, notice=notice)


ROUTES = [
    Route("/review/items", _render_items),
    Route("/review/items/list", _render_rows),
    Route("/review/groups", _render_groups),
    Route("/review/group", _render_group),
    build_form_route("/review/group/decide", _decide_on_group),
]
