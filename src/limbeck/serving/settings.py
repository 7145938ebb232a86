"""All options of `limbeck serve`."""

from dataclasses import dataclass, field
from pathlib import Path

from limbeck.runtime.engine import EngineChoice
from limbeck.serving.access import AccessSettings
from limbeck.serving.connections import ConnectionLimits
from limbeck.serving.limits import Limits
from limbeck.serving.work_queue import QueueLimits


@dataclass(frozen=True)
class Tls:
    """The files that uvicorn serves HTTPS with."""

    certificate: Path | None
    key: Path | None = None
    password: str | None = None


@dataclass(frozen=True)
class ServerSettings:
    """A server's options. The defaults are those of the command."""

    host: str = "127.0.0.1"
    port: int = 8000  # 0: any free one
    workers: int = 1  # processes
    threads: int = 1  # requests that a process computes at once
    engine: EngineChoice = "auto"
    abstain: bool = True  # whether models that were exported to abstain give no label where they are not sure enough
    limits: Limits = field(default_factory=Limits)
    queue: QueueLimits = field(default_factory=QueueLimits)
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    access: AccessSettings = field(default_factory=AccessSettings)
    access_log: str | None = None  # a file; "-" is standard error
    tls: Tls | None = None
    watch: bool = False  # load models again when their folders change
    grace_seconds: int = 8  # running requests may finish; docker kills ten seconds after SIGTERM
