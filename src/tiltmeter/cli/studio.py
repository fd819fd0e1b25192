"""`tiltmeter studio`: start the web application."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console


def studio(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The workspace: the folder that contains your runs and projects.")
    ] = Path(),
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="The port. The default is 8765 or the next free port; with --share, the port in HOST, or 443.",
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page in a browser.")
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, help="The number of parallel runs.")] = 1,
    share: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Let people on other machines review, write and rate items at this host name, such as "
            "`review.example.org`.",
        ),
    ] = None,
    cert: Annotated[Path | None, typer.Option(help="With --share: the file of the TLS certificate (PEM).")] = None,
    key: Annotated[
        Path | None, typer.Option(help="With --share: the file of the private key of the certificate (PEM).")
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="With --share: a reverse proxy on this machine does the encryption.")
    ] = False,
    bind: Annotated[str | None, typer.Option(help="With --share: the network address to listen on.")] = None,
    add_reviewer: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Set the password of this reviewer of a shared studio, and exit."),
    ] = None,
    adjudicator: Annotated[
        bool | None,
        typer.Option(
            "--adjudicator/--no-adjudicator",
            help="With --add-reviewer: whether the reviewer may settle conflicts and publish.",
        ),
    ] = None,
    remove_reviewer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Delete the password of this reviewer, and exit.")
    ] = None,
) -> None:
    """Start the web application: start, watch and compare runs, check data sets, and review test sets.

    By default, the studio can be opened only on this machine, at the printed address, which contains a secret token.
    With --share, reviewers on other machines can log in with a password.

    **Examples**

    `tiltmeter studio`

    `tiltmeter studio work --port 9000 --no-browser`

    `tiltmeter studio work --add-reviewer Ana`

    `tiltmeter studio work --share review.example.org --cert cert.pem --key key.pem`
    """
    try:
        from tiltmeter.studio.reviewer_accounts import add_studio_reviewer, remove_studio_reviewer
        from tiltmeter.studio.server import PORT, open_socket, run_server
        from tiltmeter.studio.studio_config import build_local_config, build_shared_config, parse_port
        from tiltmeter.studio.studio_workspace import StudioWorkspace
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed; install it with: pip install 'tiltmeter[studio]'") from error

    console = create_plain_console(stderr=True, soft_wrap=True, highlight=False)
    if adjudicator is not None and add_reviewer is None:
        raise UsageError("--adjudicator needs --add-reviewer NAME; add --add-reviewer, or leave out --adjudicator.")
    if add_reviewer is not None:
        workspace = StudioWorkspace(folder).folder
        password = typer.prompt(f"Password of {add_reviewer}", hide_input=True, confirmation_prompt=True, err=True)
        added = add_studio_reviewer(workspace, add_reviewer, password, is_adjudicator=adjudicator)
        role = "adjudicator" if added.is_adjudicator else "reviewer"
        console.print(f"{added.name} can log in to a shared studio on {workspace} as {role}.", markup=False)
        return
    if remove_reviewer is not None:
        remove_studio_reviewer(StudioWorkspace(folder).folder, remove_reviewer)
        return
    if share is None:
        if cert or key or behind_proxy or bind:
            raise UsageError(
                "--cert, --key, --behind-proxy and --bind need --share HOST; add --share, or leave out these options."
            )
        listening = open_socket("127.0.0.1", port)
        config = build_local_config(folder, listening.getsockname()[1], jobs=jobs)
    else:
        if behind_proxy == (cert is not None and key is not None) or (cert is None) != (key is None):
            raise UsageError("--share needs either a certificate (--cert and --key) or --behind-proxy.")
        if behind_proxy and bind not in (None, "127.0.0.1", "::1"):
            raise UsageError(
                "--behind-proxy listens only on 127.0.0.1, because the connection to the proxy is not encrypted; leave "
                "out --bind."
            )
        config = build_shared_config(folder, share)
        if port is None:
            port = PORT if behind_proxy else parse_port(share) or 443
        listening = open_socket(bind or ("127.0.0.1" if behind_proxy else "0.0.0.0"), port)
    run_server(
        config,
        listening,
        certificate=cert,
        key=key,
        behind_proxy=behind_proxy,
        open_browser=browser,
        tell=lambda sentence: console.print(sentence, markup=False),
    )
