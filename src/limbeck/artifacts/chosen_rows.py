"""The rows of the transfer text that the student is trained on, and statistics of the teacher's answers."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from limbeck.artifacts.manifest import fingerprint_of, read_json, read_manifest
from limbeck.artifacts.rows import Rows

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ChosenRows:
    """`<part>.arrow` with the positions of the chosen rows of each part, unless all rows were chosen; chosen.json with
    the counts; quality.json with the statistics."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of the choice, not of the statistics."""
        files = read_manifest(self.folder, kind="chosen").files
        return fingerprint_of(
            "\n".join(f"{name} {facts['blake2b']}" for name, facts in files.items() if name != QUALITY)
        )

    @cached_property
    def quality(self) -> dict[str, Any]:
        """The content of quality.json: for each part, statistics of the teacher's answers."""
        quality: dict[str, Any] = read_json(self.folder / QUALITY)
        return quality

    def of(self, part: str, rows: Rows) -> Rows:
        """The chosen rows of this part, in their order."""
        path = self.folder / f"{part}.arrow"
        if not path.is_file():
            return rows
        with pa.memory_map(str(path), "rb") as source:
            return rows.select(pa.ipc.open_file(source).read_all()["place"].to_numpy())


QUALITY = "quality.json"


def save_chosen_rows(
    folder: Path, *, places: dict[str, Places | None], rows: dict[str, int], quality: dict[str, Any]
) -> None:
    """Write the files of a choice into a scratch folder; None means all rows of a part."""
    for part, chosen in places.items():
        if chosen is None:
            continue
        table = pa.table({"place": pa.array(chosen, pa.int64())})
        with pa.OSFile(str(folder / f"{part}.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    (folder / "chosen.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    (folder / QUALITY).write_text(json.dumps(quality, indent=1, ensure_ascii=False), encoding="utf-8")
