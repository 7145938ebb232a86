"""Where labels come from: corrections of a review and what they have changed; a language model, and its costs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import file_digest, read_small_json
from limbeck.artifacts.report import read_right_rows
from limbeck.errors import FileUnreadable
from limbeck.recipe.corpus import CorpusSection

COUNTS = ("changed", "dropped", "added")


def corrections_key(section: CorpusSection) -> dict[str, str]:
    """What the file of corrections adds to the key of the report; nothing without one."""
    return {"corrections": file_digest(Path(section.corrections))} if section.corrections else {}


def corrections_in(section: CorpusSection) -> dict[str, Any] | None:
    """The content of the file of corrections. Raises FileUnreadable for one that `limbeck review` has not written."""
    if not section.corrections:
        return None
    path = Path(section.corrections)
    try:
        found = dict(read_small_json(path))
        return {"of": str(found["of"]), **{name: int(found[name]) for name in COUNTS}, "before": found["before"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        advice = "Give the -corrections.json of `limbeck review --apply`, or remove `corrections` from [corpus]."
        reason = f"it does not have what that file has ({type(error).__name__})"
        raise FileUnreadable(path=path, kind="a file of corrections", reason=reason, advice=advice) from None


def labelled_by_key(section: CorpusSection) -> dict[str, str]:
    """What the facts about a model's labels add to the key of the report; nothing if persons gave the labels."""
    return {"labelled by": file_digest(Path(section.labelled_by))} if section.labelled_by else {}


def labelled_by(section: CorpusSection) -> dict[str, Any] | None:
    """These facts. Raises FileUnreadable for a file that `limbeck run --endpoint` has not written."""
    if not section.labelled_by:
        return None
    path = Path(section.labelled_by)
    try:
        found = dict(read_small_json(path))
        counts = {name: int(found[name]) for name in ("texts", "answered", "checked")}
        return {**found, "model": str(found["model"]), **counts, "spent": dict(found["spent"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        advice = "Give the labels.json of `limbeck run --endpoint`, or remove `labelled_by` from [corpus]."
        reason = f"it does not have what that file has ({type(error).__name__})"
        raise FileUnreadable(path=path, kind="a file about a model's labels", reason=reason, advice=advice) from None


def compared_with_before(
    corrections: Mapping[str, Any] | None, *, models: Sequence[Mapping[str, Any]], best: str | None, report: Path
) -> dict[str, Any] | None:
    """For report.json: how many rows were corrected, and the accuracy of teacher and best model before and after.

    `report` is the folder with the rows that are right, whose digest says whether rows and labels are the same.
    """
    if corrections is None:
        return None
    before, right = corrections["before"], read_right_rows(report)
    counts = {name: corrections[name] for name in ("of", *COUNTS)}
    if not before or right is None:
        return {**counts, "same_rows": None, "models": []}
    now = {entry["name"]: entry["accuracy"] for entry in models}
    teacher = next((entry["name"] for entry in models if entry["role"] == "teacher"), None)
    pairs = [("the teacher", before["teacher"], teacher), ("the best model", before["best"], best)]
    lines = [
        {"model": name, "before": before["accuracy"].get(old), "after": now.get(new)}
        for name, old, new in pairs
        if before["accuracy"].get(old) is not None and now.get(new) is not None
    ]
    return {**counts, "same_rows": before["digest"] == right.digest, "models": lines}
