"""The report as an artifact: numbers as JSON, one page to look at, which rows are right (standard library alone)."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import MANIFEST, faults_of, read_json, read_manifest, read_small_json
from limbeck.errors import ArtifactDamaged, LimbeckError

RIGHT_ROWS = "right_rows.json"
MOST_SHOWN = 200  # characters of an error


@dataclass(frozen=True)
class Report:
    """`report.json`, whose keys are a contract, `report.html`, and `right_rows.json`."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="report").fingerprint

    @cached_property
    def data(self) -> dict[str, Any]:
        """The content of report.json."""
        data: dict[str, Any] = read_json(self.folder / "report.json")
        return data

    @property
    def html(self) -> Path:
        """The page."""
        return self.folder / "report.html"


def open_report(folder: Path) -> Report:
    """The report in this folder. Raises if it has none, if it is damaged, or if another version wrote it."""
    manifest = read_manifest(folder, kind="report", advice="Run the recipe to its end: `limbeck run RECIPE`.")
    if faults := faults_of(folder, manifest):
        raise ArtifactDamaged(folder=folder, faults=faults)
    return Report(folder)


@contextmanager
def faults_as_damage(*places: Path) -> Iterator[None]:
    """Whatever goes wrong while a report is shown, as ArtifactDamaged: somebody else may have written it, and its keys
    are many."""
    try:
        yield
    except (LimbeckError, OSError, ImportError):
        raise
    except Exception as error:
        first, *_ = f"{type(error).__name__}: {error}".splitlines()
        fault = f"report.json does not have what a report has ({first[:MOST_SHOWN]})"
        raise ArtifactDamaged(folder=places[0], faults=[fault]) from error


def save_report(folder: Path, *, data: dict[str, Any], page: str) -> None:
    """Write the files of a report into a scratch folder. Refuses NaN, which is not valid JSON."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    (folder / "report.html").write_text(page, encoding="utf-8")


@dataclass(frozen=True)
class RightRows:
    """Which of the judged rows the shipped copy of each model has right.

    Their order depends only on texts and labels: runs with the same digest can be compared row by row, whatever their
    files are called.
    """

    digest: str  # of the rows
    of_model: Mapping[str, int]  # a bit for each row


def save_right_rows(
    folder: Path, right: Mapping[str, Sequence[bool]], *, keys: Sequence[bytes], labels: Sequence[Sequence[str]]
) -> None:
    """Write right_rows.json into a scratch folder: one bit per row and model, as hexadecimal digits.

    `keys` are the content keys of the rows, `labels` the names of the classes of each: another run may number them in
    another way.
    """
    both = enumerate(zip(keys, labels, strict=True))
    rows = sorted((key.hex(), json.dumps(sorted(names)), place) for place, (key, names) in both)
    digest = hashlib.blake2b("\n".join(f"{key} {names}" for key, names, _ in rows).encode(), digest_size=16)
    order = [place for *_, place in rows]
    packed = {name: f"{_packed(found[place] for place in order):x}" for name, found in right.items()}
    written = {"rows": len(rows), "digest": digest.hexdigest(), "right": packed}
    (folder / RIGHT_ROWS).write_text(json.dumps(written, indent=1, ensure_ascii=False), encoding="utf-8")


def _packed(bits: Iterable[bool]) -> int:
    return int("".join("1" if bit else "0" for bit in bits) or "0", 2)


def read_right_rows(folder: Path) -> RightRows | None:
    """None if an older version wrote the report, or the file was not copied with it."""
    try:
        found = read_small_json(folder / RIGHT_ROWS)
        return RightRows(str(found["digest"]), {name: int(bits, 16) for name, bits in found["right"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def made_after_report(run: Path) -> list[str]:
    """What was rebuilt after the report was written: the corpus, or students by name. What has been deleted since then
    does not count."""
    inputs: dict[str, str] = _manifest(run / "report").get("key", {}).get("inputs", {})
    found = ["corpus"] if _changed(run / "corpus", inputs.get("corpus")) else []
    for name, fingerprint in inputs.items():
        variant, _, seed = name.rpartition("/")
        if variant and _student_changed(run, variant, seed, export=fingerprint):
            found.append(variant.removesuffix("-int8"))
    return [*dict.fromkeys(found)]


def _student_changed(run: Path, variant: str, seed: str, *, export: str) -> bool:
    """Whether the file was exported again, or its student was trained again and is not exported yet."""
    file = run / "exports" / variant / seed
    student = _manifest(file).get("key", {}).get("inputs", {}).get("student")
    return _changed(file, export) or _changed(run / "students" / variant.removesuffix("-int8") / seed, student)


def _changed(folder: Path, fingerprint: str | None) -> bool:
    now = _manifest(folder).get("fingerprint")
    return now is not None and fingerprint is not None and now != fingerprint


def _manifest(folder: Path) -> dict[str, Any]:
    """As it is on disk; empty if it cannot be read, which other functions report."""
    try:
        found = read_small_json(folder / MANIFEST)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
