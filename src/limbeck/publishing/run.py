"""`limbeck push`: the card with examples, the exported model, and the student's own weights for transformers."""

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import MANIFEST, read_manifest
from limbeck.artifacts.model_folder import README, ModelFolder, copy_model, open_model
from limbeck.errors import ArtifactMissing, LimbeckError, PathUnusable, some
from limbeck.publishing.card import card_with
from limbeck.publishing.stock_onnx import write_stock_graphs
from limbeck.runtime.hub_model import FORM

TRANSFORMERS = ("config.json", "model.safetensors", "tokenizer_config.json")  # beside the tokenizer, if it is the same
BESIDE = "transformers"  # where the student's files go if its tokenizer is another one


class PushRefused(LimbeckError):
    """The hub did not take the model."""

    def __init__(self, *, repository: str, reason: str) -> None:
        super().__init__(
            f"cannot push to '{repository}'",
            found=reason,
            advice="Log in with `hf auth login`, or set HF_TOKEN to a token that may write there; then run it again.",
        )


@dataclass(frozen=True)
class Pushed:
    """What was, or with `dry_run` would be, in the repository."""

    repository: str
    model: Path
    files: dict[str, int]  # by name, in bytes
    url: str | None = None  # None: nothing was sent
    has_weights: bool = False  # for transformers


def push(
    place: str | Path,
    repository: str,
    *,
    model: str = "best",
    examples: Sequence[str] = (),
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
    out: str | Path | None = None,
) -> Pushed:
    """Write what the repository is to have, and send it in one commit; the repository is made if there is none.

    `place` is a run, of which the model of this name is taken, or the folder of a model. With `out` the files stay
    there too. Raises PushRefused, and what `open_model` raises.
    """
    if not FORM.fullmatch(repository) or repository.count("/") != 1:
        raise PathUnusable(path=repository, reason="this is no name of a repository", advice="Give user/model.")
    folder = model_folder(Path(place), model=model)
    opened = open_model(folder)
    with tempfile.TemporaryDirectory(prefix="limbeck-push-") as scratch:
        files = Path(scratch) / "files"
        has_weights = written_repository(opened, files, repository=repository, examples=examples)
        sizes = {
            path.relative_to(files).as_posix(): path.stat().st_size
            for path in sorted(files.rglob("*"))
            if path.is_file()
        }
        if out is not None:
            _keep(files, Path(out))
        url = None if dry_run else _sent(files, repository, private=private, revision=revision)
    return Pushed(repository, folder, sizes, url, has_weights)


def model_folder(place: Path, *, model: str) -> Path:
    """A model's own folder, or that of the model of this name in a run."""
    if (place / "model.json").is_file():
        return place
    folder = place / "models" / model
    if (folder / "model.json").is_file():
        return folder
    known = sorted(path.parent.name for path in place.glob("models/*/model.json"))
    reason = f"it has no model '{model}'; it has {some(known)}" if known else "there is no model in it"
    raise ArtifactMissing(folder=place, kind="model", reason=reason, advice="Give a run, or the folder of a model.")


def written_repository(model: ModelFolder, folder: Path, *, repository: str, examples: Sequence[str] = ()) -> bool:
    """Write the files of the repository to a new folder; whether it has weights that transformers reads."""
    folder.mkdir(parents=True)
    copy_model(model, folder)
    shutil.copyfile(model.folder / MANIFEST, folder / MANIFEST)
    student = student_of(model)
    if student is not None:
        is_same = (student / "tokenizer.json").read_bytes() == model.tokenizer.read_bytes()
        target = folder if is_same else folder / BESIDE
        target.mkdir(exist_ok=True)
        for name in TRANSFORMERS if is_same else (*TRANSFORMERS, "tokenizer.json"):
            if (student / name).is_file():
                shutil.copyfile(student / name, target / name)
        write_stock_graphs(student, target)
    card = model.folder / README
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    profile = model.profile()
    shown: list[object] = [*examples] or [*(profile.examples if profile else ())]
    content = card_with(text, model.facts(), repository=repository, examples=shown, has_weights=student is not None)
    (folder / README).write_text(content, encoding="utf-8")
    return student is not None


def student_of(model: ModelFolder) -> Path | None:
    """The trained student that a model of a run was exported from; None outside a run, and for blends."""
    facts = model.facts()
    run = model.folder.resolve().parent.parent
    if facts.members or not (run / "run.json").is_file():
        return None
    mine = _without_profile(model.folder)
    for export in sorted(run.glob(f"exports/{facts.name}/*/{MANIFEST}")):
        student = run / "students" / facts.name.removesuffix("-int8") / export.parent.name
        if _without_profile(export.parent) == mine and (student / "config.json").is_file():
            return student
    return None


def _without_profile(folder: Path) -> dict[str, Any]:
    files = read_manifest(folder, kind="model").files
    return {
        name: json.dumps(facts, sort_keys=True)
        for name, facts in files.items()
        if name.endswith((".onnx", "tokenizer.json"))
    }


def _keep(files: Path, out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PathUnusable(path=str(out), reason="it already exists", advice="Give a new or an empty folder.")
    shutil.copytree(files, out, dirs_exist_ok=True)


def _sent(files: Path, repository: str, *, private: bool, revision: str | None) -> str:
    from huggingface_hub import HfApi

    api = HfApi(library_name="limbeck")
    try:
        made = api.create_repo(repository, private=private or None, exist_ok=True)
        if revision is not None:
            api.create_branch(repository, branch=revision, exist_ok=True)
        api.upload_folder(
            repo_id=repository,
            folder_path=files,
            revision=revision,
            commit_message="Model distilled with Limbeck",
        )
    except Exception as error:  # the hub's client raises a dozen kinds, for the network, tokens and names
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise PushRefused(repository=repository, reason=reason) from error
    return str(made)
