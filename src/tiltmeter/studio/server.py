"""The web server of a studio."""

import html
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import uvicorn

from tiltmeter.errors import UsageError
from tiltmeter.files import write_atomically
from tiltmeter.studio.app import Studio, make_app
from tiltmeter.studio.request_timeouts import TimedProtocol
from tiltmeter.studio.reviewer_accounts import list_studio_reviewers
from tiltmeter.studio.studio_config import StudioConfig

PORT = 8765
# Number of ports that are tried, beginning with the default port.
_TRIED = 20
# The name of an HTML file that redirects the browser to the studio.
_OPENING = "open.html"


def open_socket(host: str, port: int | None) -> socket.socket:
    """Return a socket that is bound to `port`; if `port` is None, use a free port (PORT, or a later port)."""
    for number in [port] if port is not None else [*range(PORT, PORT + _TRIED), 0]:
        listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
        except OSError as error:
            listening.close()
            if port is not None:
                raise UsageError(
                    f"Port {port} of {host} cannot be used ({error.strerror}); choose another port with --port."
                ) from error
            continue
        return listening
    raise UsageError(f"Found no free port of {host}; choose a port with --port.")


def run_server(
    config: StudioConfig,
    listening: socket.socket,
    *,
    certificate: Path | None = None,
    key: Path | None = None,
    behind_proxy: bool = False,
    open_browser: bool = False,
    tell: Callable[[str], None] = print,
) -> None:
    """Run the studio until it is interrupted; `tell` is called with sentences for the user, such as the address."""
    studio = Studio(config)
    port = listening.getsockname()[1]
    address = f"{config.scheme}://{min(config.hosts, key=len) if config.share else f'127.0.0.1:{port}'}/"
    settings = uvicorn.Config(
        make_app(studio),
        http=TimedProtocol,
        # Uvicorn's own configuration of logging closes all existing handlers, and some libraries' handlers then close
        # standard error.
        log_config=None,
        log_level="warning",
        server_header=False,
        proxy_headers=behind_proxy,
        forwarded_allow_ips="127.0.0.1,::1" if behind_proxy else None,
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
        timeout_graceful_shutdown=2,
    )
    try:
        settings.load()
    except OSError as error:
        # Faults of the certificate are also handled here, because ssl.SSLError is an OSError.
        raise UsageError(
            f"The certificate {certificate} with the key {key} cannot be used: {error}; check --cert and --key."
        ) from error
    if config.share:
        for sentence in describe_sharing(studio, address):
            tell(sentence)
    else:
        address = f"{address}start?token={studio.sessions.start_token}"
        tell(f"The studio for {studio.workspace.folder} is at {address}")
        tell("Only this machine can open it. Press Ctrl+C to end the studio; runs in progress continue.")
    with (
        _prepare_browser(studio.workspace.state, address)
        if open_browser and not config.share
        else nullcontext() as opened
    ):
        _Server(settings, opened or (lambda: None)).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A web server that calls the function `on_ready` when it accepts connections."""

    def __init__(self, settings: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(settings)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections, then call `on_ready`."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def render_opening_page(address: str) -> str:
    """Return an HTML page that redirects the browser to an address."""
    return (
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Tiltmeter</title>'
        f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">'
        f'<a href="{html.escape(address)}">Open the studio</a>'
    )


@contextmanager
def _prepare_browser(state: Path, address: str) -> Iterator[Callable[[], None]]:
    """Yield a function that opens an address in the browser.

    The browser opens a private file that redirects to the address. The address itself is not passed to the browser,
    because it contains the start token, and all users of a machine can see the arguments of processes.
    """
    page = state / _OPENING
    with write_atomically(page, is_private=True) as part:
        part.write_text(render_opening_page(address), encoding="utf-8")
    # A browser in the terminal blocks until it ends, so it is opened in a thread.
    thread = threading.Thread(target=webbrowser.open, args=(page.as_uri(),), name="browser", daemon=True)
    try:
        yield thread.start
    finally:
        page.unlink(missing_ok=True)


def describe_sharing(studio: Studio, address: str) -> list[str]:
    """Return sentences about who can log in to a shared studio, and what these people can do."""
    workspace = studio.workspace
    projects = sorted(map(workspace.get_relative_name, workspace.list_projects()))
    people = list_studio_reviewers(workspace.folder)
    adjudicators = [person.name for person in people if person.is_adjudicator]
    if not people:
        return [
            f"The studio is at {address}, but no reviewer can log in yet; add a reviewer with "
            "`tiltmeter studio FOLDER --add-reviewer NAME`."
        ]
    sentences = [
        f"Reviewers can log in at {address} with their password: {', '.join(person.name for person in people)}.",
        f"They can review, write and rate in all projects of the workspace: {', '.join(projects) or 'none yet'}.",
    ]
    if adjudicators:
        sentences.append(
            f"Adjudicators can also settle conflicts, publish and download projects: {', '.join(adjudicators)}."
        )
    return [*sentences, "Reviewers cannot open runs and data files."]
