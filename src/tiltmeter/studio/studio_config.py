"""What a studio is started with."""

from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, kw_only=True)
class StudioConfig:
    """The workspace folder, the addresses that browsers use, and what is served.

    `hosts` are the values of the Host header that are answered; `scheme` is that of the address in the browser. With
    `share`, only the rooms for reviewers are served, to people with a password. `jobs` is the number of runs at a time.
    """

    folder: Path
    hosts: frozenset[str] = field(default_factory=frozenset)
    scheme: str = "http"
    share: bool = False
    jobs: int = 1

    @property
    def secure(self) -> bool:
        """Whether the browser's connection is encrypted, so that cookies are sent over such connections only."""
        return self.scheme == "https"

    @property
    def cookie(self) -> str:
        """The name of the cookie: that of a local studio has its port, since browsers give cookies to all ports."""
        return "__Host-tiltmeter_studio" if self.share else f"tiltmeter_studio_{min(self.hosts).rpartition(':')[2]}"

    @property
    def origins(self) -> frozenset[str]:
        """The values of the Origin header that are answered."""
        return frozenset(f"{self.scheme}://{host}" for host in self.hosts)


def build_local_config(folder: Path, port: int, *, jobs: int = 1) -> StudioConfig:
    """A studio for this machine only."""
    return StudioConfig(folder=folder, hosts=frozenset(f"{host}:{port}" for host in LOOPBACK), jobs=jobs)


def parse_port(address: str) -> int | None:
    """The port in an address such as `review.example.org:8443`; None if it has none."""
    port = address.rpartition(":")[2] if ":" in address else ""
    return int(port) if port.isdigit() else None


def build_shared_config(folder: Path, address: str) -> StudioConfig:
    """A studio for reviewers at an address such as `review.example.org` or `review.example.org:8443`."""
    if not address or any(character in address for character in "/@ \t"):
        raise UsageError(
            f"{address!r} is not the name of a host; give the one that reviewers type, such as review.example.org."
        )
    return StudioConfig(folder=folder, hosts=frozenset({address.lower()}), scheme="https", share=True)
