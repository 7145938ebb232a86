"""Errors about the server."""

from limbeck.errors.message import LimbeckError


class ServingError(LimbeckError):
    """The server cannot be started."""


class PortTaken(ServingError):
    """Another process listens on the port."""

    def __init__(self, *, host: str, port: int) -> None:
        self.host, self.port = host, port
        super().__init__(
            f"port {port} of {host} is taken by another process",
            advice="Stop that process, or choose another port with --port; --port 0 takes any free one.",
        )


class AddressUnusable(ServingError):
    """The system does not let us listen on this host and port."""

    def __init__(self, *, host: str, port: int, reason: str) -> None:
        self.host, self.port = host, port
        super().__init__(
            f"cannot listen on port {port} of '{host}'",
            found=f"the system says: {reason}",
            advice="Give an address of this machine with --host (127.0.0.1: this machine alone; 0.0.0.0: every "
            "network), and a port from 1024 on with --port.",
        )
