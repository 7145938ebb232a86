"""Fingerprints of everything a section reads: the inputs by which the pipeline knows whether a stage is still true."""

import os
from pathlib import Path

from limbeck.artifacts.corpus import SPLITS
from limbeck.artifacts.manifest import file_digest, fingerprint_of
from limbeck.errors import FileMissing, FileUnreadable
from limbeck.recipe.corpus import Corpus
from limbeck.recipe.files import expand
from limbeck.recipe.transfer import Transfer


def input_fingerprints(section: Corpus | Transfer) -> dict[str, str]:
    """Name of every input and the digest of its bytes.

    Names hold no folders but those in which the inputs differ, so that data at another place is still the same
    data. A data set on the hub goes by its name alone: what the hub holds now cannot be asked offline.
    """
    if isinstance(section, Transfer):
        return _digests([path for pattern in section.files for path in expand(pattern)])
    if section.hub is None:
        paths = {split: Path(path) for split in SPLITS if (path := getattr(section, split))}
        return {f"{split} ({path.name})": _digest(path) for split, path in paths.items()}
    if Path(section.hub).is_dir():
        return _digests(expand(section.hub))
    return {f"hub ({section.hub})": fingerprint_of(section.hub)}


def _digests(paths: list[Path]) -> dict[str, str]:
    distinct = list(dict.fromkeys(paths))
    root = Path(os.path.commonpath([path.parent for path in distinct]))
    return {path.relative_to(root).as_posix(): _digest(path) for path in distinct}


def _digest(path: Path) -> str:
    try:
        return file_digest(path)
    except FileNotFoundError:
        raise FileMissing(path=path.name, looked_in=[path.parent]) from None
    except OSError as error:  # a folder, or a file that this user may not read
        advice = "Give a file of rows that you may read."
        raise FileUnreadable(path=path, kind="rows", reason=str(error.strerror), advice=advice) from None
