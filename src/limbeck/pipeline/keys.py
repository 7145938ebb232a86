"""What the key of an artifact contains: the settings that determine it, and the fingerprints of its inputs."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limbeck.artifacts.corpus import SPLITS, Corpus
from limbeck.artifacts.manifest import file_digest, fingerprint_of
from limbeck.artifacts.transfer_text import TransferText
from limbeck.errors import FileMissing, FileUnreadable
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.decisions import ArtifactName, settings
from limbeck.recipe.files import expand
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import BiLstm, Transformer, WordStudent, source_kind
from limbeck.recipe.transfer import Transfer, named_split

ExtraText = Mapping[str, TransferText]  # by name: "transfer", "augmented"


def settings_of(recipe: Recipe, artifact: ArtifactName) -> dict[str, Any]:
    """The settings in the key of an artifact, table by table: every field whose marker names the artifact.

    The functions it calls add what markers cannot express: fields that matter only with a certain value of another
    field. Teachers and pretrained encoders, of which there may be several, have one key per section: see
    `decisions.settings`.
    """
    found = _settings_of(recipe.model_copy(update={"candidates": []}), artifact)
    found.pop("candidates", None)  # each has keys of its own: see `Recipe.for_each_student`
    return found


def _settings_of(recipe: Recipe, artifact: ArtifactName) -> dict[str, Any]:
    match artifact:
        case "labels":
            return settings(_with_features_resolved(recipe), artifact)
        case "vocabulary":
            return _vocabulary_settings(recipe)
        case "students" | "baseline":
            return _with_start(_with_vector_sources(settings(recipe, artifact), recipe), recipe)
        case _:
            return settings(recipe, artifact)


def _with_start(found: dict[str, Any], recipe: Recipe) -> dict[str, Any]:
    """With what a transformer starts from; a checkpoint, of which the inputs have a fingerprint, is only called so."""
    if isinstance(recipe.student, Transformer):
        found["student"]["start"] = "checkpoint" if recipe.student.checkpoint else recipe.student.start
    return found


def _with_features_resolved(recipe: Recipe) -> Recipe:
    """With features = "auto" replaced by its actual value, which depends on the losses and the choice of text."""
    labeling = recipe.labeling.model_copy(update={"features": recipe.features})
    return recipe.model_copy(update={"labeling": labeling})


def _vocabulary_settings(recipe: Recipe) -> dict[str, Any]:
    """With the precision of the file that `max_size_mb` limits, and with attention pooling: its weights leave space for
    fewer words below the size of the teacher."""
    student, is_limited = recipe.student, recipe.student.max_size_mb is not None
    found = settings(recipe, "sized_vocabulary" if is_limited else "vocabulary")
    if isinstance(student, BiLstm) and student.pooling == "attention":
        found["student"]["pooling"] = student.pooling
    return {**found, "export": {"precision": recipe.export.smallest}} if is_limited else found


def _with_vector_sources(found: dict[str, Any], recipe: Recipe) -> dict[str, Any]:
    """With the kinds of word vector source; the content of the files is in the vocabulary's key."""
    student = recipe.student
    if isinstance(student, WordStudent):
        found["student"]["word_vectors"] = " + ".join(source_kind(source) for source in student.vector_sources)
    return found


def texts(corpus: Corpus, extra: ExtraText) -> dict[str, str]:
    """Fingerprints of all texts, including test rows."""
    return {"corpus": corpus.fingerprint, **{name: text.fingerprint for name, text in extra.items()}}


def training_fingerprints(corpus: Corpus, extra: ExtraText) -> dict[str, str]:
    """Fingerprints of the texts that training reads: a changed test file must not cause new training."""
    return {"corpus": corpus.training_fingerprint, **{name: text.training_fingerprint for name, text in extra.items()}}


def input_fingerprints(section: CorpusSection | Transfer) -> dict[str, str]:
    """The name of every input, with the digest of its bytes.

    Names contain only the folders in which the inputs differ, so that data moved to another place is still the same
    data. A data set on the hub is identified by its name alone: its current content cannot be checked offline.
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
    """Folders may have the same name, so their position in the recipe distinguishes them."""
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
