"""What the key of an artifact is made of: settings without paths, and the fingerprints of texts."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.artifacts.corpus import SPLITS, Corpus
from limbeck.artifacts.manifest import file_digest, fingerprint_of
from limbeck.artifacts.transfer_text import TransferText
from limbeck.errors import FileMissing, FileUnreadable
from limbeck.recipe.base import Section
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.files import expand
from limbeck.recipe.transfer import Transfer, named_split

ExtraText = Mapping[str, TransferText]  # by name: "transfer", "augmented"


def settings(section: Section, *, without: Sequence[str] = ()) -> dict[str, Any]:
    """A section for an artifact's key. Paths are left out: what they lead to stands among the inputs."""
    return section.model_dump(mode="json", exclude=set(without))


def texts(corpus: Corpus, extra: ExtraText) -> dict[str, str]:
    """Everything that was read or made."""
    return {"corpus": corpus.fingerprint, **{name: text.fingerprint for name, text in extra.items()}}


def training_fingerprints(corpus: Corpus, extra: ExtraText) -> dict[str, str]:
    """What training goes by: another test file must not train anything anew."""
    return {"corpus": corpus.training_fingerprint, **{name: text.training_fingerprint for name, text in extra.items()}}


def input_fingerprints(section: CorpusSection | Transfer) -> dict[str, str]:
    """Name of every input and the digest of its bytes.

    Names hold no folders but those in which the inputs differ, so that data at another place is still the same
    data. A data set on the hub goes by its name alone: what the hub holds now cannot be asked offline.
    """
    if isinstance(section, Transfer):
        prints = _digests([path for pattern in section.files for path in expand(pattern)])
        for number, name in enumerate(section.hub):
            prints |= _of_data_set(name, number)
        return prints
    if section.hub is None:
        paths = {split: Path(path) for split in SPLITS if (path := getattr(section, split))}
        return {f"{split} ({path.name})": _digest(path) for split, path in paths.items()}
    if Path(section.hub).is_dir():
        return _digests(expand(section.hub))
    return {f"hub ({section.hub})": fingerprint_of(section.hub)}


def _of_data_set(name: str, number: int) -> dict[str, str]:
    """Folders may have the same name, so their place in the recipe tells them apart."""
    folder, _ = named_split(name)
    if not Path(folder).is_dir():
        return {f"hub ({name})": fingerprint_of(name)}
    files = _digests(expand(folder))
    return {f"hub {number} ({Path(name).name})/{file}": digest for file, digest in files.items()}


def _digests(paths: list[Path]) -> dict[str, str]:
    distinct = list(dict.fromkeys(paths))
    if not distinct:
        return {}
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
