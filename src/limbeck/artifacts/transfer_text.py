"""Transfer text as an artifact: unlabelled rows, and statistics of how they were gathered."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from limbeck.artifacts.manifest import fingerprint_of, read_json, read_manifest
from limbeck.artifacts.mapped import map_table
from limbeck.artifacts.rows import Rows

SOURCES = "sources.arrow"
TIMES = {"seconds", "rows_per_second"}


@dataclass(frozen=True)
class TransferText:
    """`transfer.arrow` and quality.json; if the rows are copies, also sources.arrow."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of the rows and of the counts, but not of how long it took."""
        counted = json.dumps(without_times(self.quality), sort_keys=True, ensure_ascii=False)
        return fingerprint_of(f"{self.training_fingerprint} {counted}")

    @property
    def training_fingerprint(self) -> str:
        """Of the rows alone, not of how they were gathered."""
        return str(read_manifest(self.folder, kind="transfer").files["transfer.arrow"]["blake2b"])

    @cached_property
    def rows(self) -> Rows:
        """The unlabelled rows."""
        return Rows.load(self.folder / "transfer.arrow")

    @cached_property
    def sources(self) -> pa.Table | None:
        """(id, source, changes) in the order of the rows: the id of the row that each is a copy of, and how many words
        each method changed; None: they are not copies."""
        return map_table(self.folder / SOURCES).table if (self.folder / SOURCES).is_file() else None

    @cached_property
    def quality(self) -> dict[str, Any]:
        """The content of quality.json: rows read, cut, dropped and kept."""
        quality: dict[str, Any] = read_json(self.folder / "quality.json")
        return quality


def without_times(counted: Any) -> Any:
    """The same numbers without seconds and rates, which differ from run to run."""
    if isinstance(counted, dict):
        return {name: without_times(value) for name, value in counted.items() if name not in TIMES}
    return [without_times(value) for value in counted] if isinstance(counted, list) else counted


def save_transfer_text(folder: Path, *, rows: Rows, quality: dict[str, Any]) -> None:
    """Write the files of transfer text into a scratch folder."""
    rows.save(folder / "transfer.arrow")
    (folder / "quality.json").write_text(json.dumps(quality, indent=1, ensure_ascii=False), encoding="utf-8")
