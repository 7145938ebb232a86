"""How long the making of a general student takes, over all processes that took part."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Clock:
    """How long it takes, with the time of processes that were stopped up to their last epoch."""

    file: Path
    earlier: float
    started: float

    @classmethod
    def found(cls, work: Path) -> Self:
        file = work / "seconds.json"
        earlier = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else 0.0
        return cls(file, earlier, time.monotonic())

    @property
    def seconds(self) -> float:
        """Of all processes."""
        return self.earlier + time.monotonic() - self.started

    def keep(self) -> None:
        """For a process that continues."""
        scratch = self.file.with_suffix(".partial")
        scratch.write_text(json.dumps(self.seconds), encoding="utf-8")
        scratch.replace(self.file)
