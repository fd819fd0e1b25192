"""The settings of a studio."""

from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, kw_only=True)
class StudioConfig:
    """The settings of a studio. `folder` is the workspace; `jobs` is the maximum number of parallel runs.

    `hosts` are the accepted values of the Host header. `scheme` is `http` or `https`, as in the address in the browser.
    If `share` is true, the studio serves only the pages for reviewers, and reviewers need a password.
    """

    folder: Path
    hosts: frozenset[str] = field(default_factory=frozenset)
    scheme: str = "http"
    share: bool = False
    jobs: int = 1

    @property
    def is_secure(self) -> bool:
        """Return whether cookies are restricted to encrypted connections."""
        return self.scheme == "https"

    @property
    def cookie_name(self) -> str:
        """Return the name of the session cookie.

        For a local studio, the name contains the port, because a browser sends cookies to all ports of a machine.
        """
        return "__Host-tiltmeter_studio" if self.share else f"tiltmeter_studio_{min(self.hosts).rpartition(':')[2]}"

    @property
    def origins(self) -> frozenset[str]:
        """Return the accepted values of the Origin header."""
        return frozenset(f"{self.scheme}://{host}" for host in self.hosts)


def build_local_config(folder: Path, port: int, *, jobs: int = 1) -> StudioConfig:
    """Return the settings of a studio that can be opened only on this machine."""
    return StudioConfig(folder=folder, hosts=frozenset(f"{host}:{port}" for host in LOOPBACK), jobs=jobs)


def parse_port(address: str) -> int | None:
    """Return the port in an address such as `review.example.org:8443`; None if the address has no port."""
    port = address.rpartition(":")[2] if ":" in address else ""
    return int(port) if port.isdigit() else None


def build_shared_config(folder: Path, address: str) -> StudioConfig:
    """Return the settings of a shared studio at an address such as `review.example.org:8443`."""
    if not address or any(character in address for character in "/@ \t"):
        raise UsageError(
            f"{address!r} is not a host name; give the host name that reviewers type in the browser, for example "
            "review.example.org."
        )
    return StudioConfig(folder=folder, hosts=frozenset({address.lower()}), scheme="https", share=True)
