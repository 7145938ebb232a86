"""Models of the Hugging Face Hub by their address, hf://user/model: fetched once, then read from the cache."""

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from limbeck.artifacts.manifest import MANIFEST, read_manifest
from limbeck.errors import ArtifactError

PREFIX = re.compile(r"hf:/{1,2}(?!/)")  # pathlib.Path makes one slash of two
FORM = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w.-]+))?(?:/(?P<folder>[\w./-]+))?")


class HubModelUnusable(ArtifactError):
    """A model of the hub cannot be fetched, or what is there is no model of Limbeck."""

    def __init__(self, *, address: str, reason: str, advice: str = "") -> None:
        self.address = address
        advice = (
            advice or "Check the name, the connection, and for a private model that you are logged in: hf auth login."
        )
        super().__init__(f"cannot load '{address}' from the Hugging Face Hub", found=reason, advice=advice)


@dataclass(frozen=True)
class HubAddress:
    """A repository, possibly at a branch, a tag or a commit, and possibly a folder in it."""

    name: str
    revision: str | None = None
    folder: str = ""

    def __str__(self) -> str:
        at = f"@{self.revision}" if self.revision else ""
        return f"hf://{self.name}{at}{f'/{self.folder}' if self.folder else ''}"


def hub_address(place: object) -> HubAddress:
    """hf://user/model, hf://user/model@revision, hf://user/model/folder. Raises HubModelUnusable."""
    found = FORM.fullmatch(PREFIX.sub("", str(place), count=1).rstrip("/"))
    if found is None or ".." in (found["folder"] or "").split("/"):
        advice = "Give hf://user/model, hf://user/model@revision or hf://user/model/folder."
        raise HubModelUnusable(address=str(place), reason="this is no address of a model", advice=advice)
    return HubAddress(found["name"], found["revision"], (found["folder"] or "").strip("/"))


def fetched(address: HubAddress) -> Path:
    """The folder of the model in the cache: the files that its manifest names, and nothing else of the repository."""
    from huggingface_hub import constants

    first = _file(address, MANIFEST, address.revision)
    steps = len([step for step in address.folder.split("/") if step])
    commit = first.parents[steps].name
    place = Path(constants.HF_HUB_CACHE).parent / "limbeck" / address.name.replace("/", "--") / commit / address.folder
    if (place / MANIFEST).is_file():
        return place
    scratch = _scratch_beside(place)
    try:
        _put(first, scratch / MANIFEST)
        for name in _names(scratch, address):
            _put(_file(address, name, commit), scratch / name)
        _moved(scratch, place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return place


def _scratch_beside(place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{place.name}.", suffix=".partial", dir=place.parent))


def _names(folder: Path, address: HubAddress) -> list[str]:
    names = list(read_manifest(folder, kind="model").files)
    if bad := [name for name in names if not FORM.fullmatch(f"a/b/{name}") or ".." in name.split("/")]:
        raise HubModelUnusable(address=str(address), reason=f"its manifest lists {bad[0]!r:.80}, which no model has")
    return names


def _put(source: Path, target: Path) -> None:
    """A file of its own, as a model is one folder; without taking the place twice where the disk allows."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)


def _moved(scratch: Path, place: Path) -> None:
    try:
        scratch.rename(place)
    except OSError:
        if not (place / MANIFEST).is_file():  # otherwise another process was quicker
            raise


def _file(address: HubAddress, name: str, revision: str | None) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(address.name, name, subfolder=address.folder or None, revision=revision))
    except LocalEntryNotFoundError as error:
        raise HubModelUnusable(address=str(address), reason=_first_line(error)) from None
    except EntryNotFoundError:
        advice = "Give a repository that `limbeck push` has made; others load with transformers."
        raise HubModelUnusable(address=str(address), reason=f"it has no {name}", advice=advice) from None
    except Exception as error:  # the hub's client raises a dozen kinds, also for names that it does not take
        raise HubModelUnusable(address=str(address), reason=_first_line(error)) from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
