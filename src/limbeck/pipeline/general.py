"""`limbeck pretrain`: a general student from text and encoders, in the folder general/."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch

from limbeck.artifacts.disk import disk_errors_as_user_errors
from limbeck.artifacts.general_folder import GeneralFolder
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.run_folder import open_run
from limbeck.general.layers import distil_in_general
from limbeck.general.run import NamedEncoder, SentenceEncoder, teach_in_general
from limbeck.pipeline.general_layers import key_of_layers, teacher_of
from limbeck.pipeline.keys import input_fingerprints
from limbeck.progress import Reporter, TerminalReporter
from limbeck.recipe.files import GENERAL_FOLDER
from limbeck.recipe.general import General, GeneralRecipe
from limbeck.recipe.general_layers import GeneralLayersRecipe
from limbeck.recipe.load import load_general_recipe
from limbeck.teacher.checkpoint import checkpoint_fingerprint, find_checkpoint
from limbeck.teacher.loading import load_encoder
from limbeck.timing.machine import machine_facts
from limbeck.training.device import choose_arithmetic, training_device
from limbeck.transfer.text_sources import text_sources

Make = Callable[..., GeneralFolder]
LABELS = ["0", "1"]  # of a head that nobody asks
DECIDE_NOTHING = {"name", "encoders", "processes"}  # of [general]: the encoders are in the key by what they hold


def pretrain(
    recipe: str | Path,
    *,
    overrides: Sequence[str] = (),
    out: str | Path = GENERAL_FOLDER,
    reporter: Reporter | None = None,
) -> GeneralFolder:
    """Teach a student in general, or reuse what is there already; the same as `limbeck pretrain`."""
    loaded = load_general_recipe(recipe, overrides=overrides)
    folder, machine = Path(out), machine_facts(threads=0)
    key, make = _of_layers(loaded, machine) if isinstance(loaded, GeneralLayersRecipe) else _of_words(loaded, machine)
    advice = "Correct that, or give another folder with --out."
    with (
        disk_errors_as_user_errors(folder, advice=advice),
        open_run(folder, reporter=reporter or TerminalReporter(), facts={"machine": machine}) as run,
    ):
        return run.step(
            loaded.general.name,
            kind="general",
            key=key,
            load=GeneralFolder,
            make=lambda place, key: make(out=place, key=key, reporter=run.reporter),
        )


def _of_words(recipe: GeneralRecipe, machine: Mapping[str, Any]) -> tuple[Key, Make]:
    """The key, and how it is made; every encoder is found before anything is read."""
    encoders = [_encoder(name, recipe.general) for name in recipe.general.encoders]

    def make(**place: Any) -> GeneralFolder:
        sources = text_sources(recipe.transfer)
        return teach_in_general(recipe, sources=sources, encoders=encoders, machine=machine, **place)

    return _key(recipe, encoders), make


def _of_layers(recipe: GeneralLayersRecipe, machine: Mapping[str, Any]) -> tuple[Key, Make]:
    """The same for a transformer."""
    teacher = teacher_of(recipe.general)

    def make(**place: Any) -> GeneralFolder:
        sources = text_sources(recipe.transfer)
        return distil_in_general(recipe, sources=sources, teacher=teacher, machine=machine, **place)

    return key_of_layers(recipe, teacher), make


def _key(recipe: GeneralRecipe, encoders: Sequence[NamedEncoder]) -> Key:
    written = recipe.model_dump(mode="json", exclude={"transfer": {"files", "hub"}, "general": DECIDE_NOTHING})
    of_encoders = {f"encoder {number}": one.fingerprint for number, one in enumerate(encoders)}
    return Key(section=written, inputs={**of_encoders, **input_fingerprints(recipe.transfer)})


def _encoder(name: str, section: General) -> NamedEncoder:
    folder = find_checkpoint(name, what="encoder")
    return NamedEncoder(Path(name).name, checkpoint_fingerprint(name), _opener(folder, section))


def _opener(folder: Path, section: General) -> Callable[[], AbstractContextManager[SentenceEncoder]]:
    @contextmanager
    def opened() -> Iterator[SentenceEncoder]:
        encoder = load_encoder(
            folder,
            max_length=section.encoder_length,
            arithmetic=choose_arithmetic("auto"),
            labels=LABELS,
            head="mean",
        )
        encoder.model.to(training_device()).eval()
        yield encoder
        encoder.model.cpu()
        if torch.cuda.is_available():  # the next encoder, and the student, need the memory
            torch.cuda.empty_cache()

    return opened
