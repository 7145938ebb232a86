"""Who takes part in a bench: exported models, on one engine or on each, and teachers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from limbeck.artifacts.model_folder import CARD, ModelFolder, open_model
from limbeck.artifacts.report import made_after_report
from limbeck.artifacts.run_folder import Run
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import ArtifactMissing, DependencyMissing, EngineUnusable, ModelsNotAlike, in_shell, some
from limbeck.progress import Reporter
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.engine import EngineChoice

EngineOfBench = EngineChoice | Literal["all"]
EVERY_ENGINE: tuple[EngineChoice, ...] = ("onnx", "native")
TEACHER_ADVICE = (
    "Give a Hugging Face folder with config.json and weights, the teacher of a run (runs/NAME/teacher), or a model."
)


@dataclass(frozen=True)
class Contestant:
    """What is timed. Of a Hugging Face folder neither the language is known nor whether it reads pairs."""

    name: str
    kind: str  # "model"; of what runs in PyTorch "teacher" or "student"
    folder: Path
    engine: EngineChoice = "auto"
    is_teacher: bool = False  # what the others are measured by
    language: str | None = None
    pair: bool | None = None
    max_length: int | None = None

    def request(self) -> dict[str, Any]:
        """What its process has to know."""
        asked = {"kind": self.kind, "folder": str(self.folder), "max_length": self.max_length}
        return {**asked, "engine": self.engine}

    @property
    def size_mb(self) -> float:
        """Its files, in millions of bytes; of a teacher in PyTorch its weights."""
        if (self.folder / CARD).is_file():
            return ModelFolder(self.folder).size_mb()
        pattern = "*.safetensors" if self.kind == "teacher" else "*"
        return sum(path.stat().st_size for path in self.folder.rglob(pattern) if path.is_file()) / 1e6


def line_up(
    paths: Sequence[Path], *, teacher: Path | None, engine: EngineOfBench, reporter: Reporter
) -> list[Contestant]:
    """Everyone that the paths stand for, the teacher first; of a run all its models and its teacher."""
    given = [_given_teacher(teacher)] if teacher else []
    runs = [path for path in paths if (path / "run.json").is_file()]
    own = [found for run in runs if (found := _run_teacher(run, reporter=reporter))] if not teacher else []
    models = {
        folder.resolve(): folder
        for path in paths
        for folder in (_models_of(path, reporter=reporter) if path in runs else [path])
    }
    exported = [one for folder in models.values() for one in _on_engines(open_model(folder), engine=engine)]
    everyone = _renamed([*given, *own, *exported])
    _refuse_mixed(everyone)
    return everyone


def _models_of(run: Path, *, reporter: Reporter) -> list[Path]:
    """The models that ship. They are worth timing after a change of the run too, as long as one knows."""
    folders = list(Run(run).models.values())
    if not folders:
        reason, advice = "it has no models yet", f"Go on with: limbeck run {in_shell(run)}"
        raise ArtifactMissing(folder=run, kind="run with models", reason=reason, advice=advice)
    if changed := made_after_report(run):
        reporter.note(
            f"  {run.name} was changed and not finished: its models are those of before ({some(changed)} "
            f"{'is' if len(changed) == 1 else 'are'} newer). Go on with: limbeck run {in_shell(run)}"
        )
    return folders


def _on_engines(model: ModelFolder, *, engine: EngineOfBench) -> Iterator[Contestant]:
    """The model on the engine that is asked for; or on each that can run it."""
    facts = model.facts()
    contestant = Contestant(
        name=model.folder.resolve().name,
        kind="model",
        folder=model.folder,
        language=facts.language,
        pair=facts.pair,
        max_length=facts.max_length,
    )
    if engine == "auto":
        yield contestant
        return
    for one in EVERY_ENGINE if engine == "all" else (engine,):
        try:
            if one == "native":
                Classifier(model, threads=1, engine=one)  # here, so that a model it cannot run is told of at once
            yield replace(contestant, engine=one)
        except EngineUnusable:
            if engine != "all":
                raise


def _given_teacher(folder: Path) -> Contestant:
    """What stands in the folder of --teacher. Raises if it cannot be run, or not here."""
    if (folder / "teacher.json").is_file():
        teacher = TeacherFolder(folder)
        if not teacher.is_weighable:
            reason = f"it is of the kind '{teacher.facts.kind}', which cannot be run"
            raise ArtifactMissing(folder=folder, kind="teacher to time", reason=reason, advice=TEACHER_ADVICE)
        contestant = _of_run(teacher)
    elif (folder / CARD).is_file():
        (contestant,) = _on_engines(open_model(folder), engine="auto")
    elif (folder / "config.json").is_file():
        contestant = Contestant(name=folder.resolve().name, kind="teacher", folder=folder)
    else:
        reason = "it has no config.json" if folder.is_dir() else "there is no such folder"
        raise ArtifactMissing(folder=folder, kind="teacher", reason=reason, advice=TEACHER_ADVICE)
    if missing := _missing_package(contestant):
        raise DependencyMissing(package=missing, purpose="limbeck bench --teacher", extra="train")
    return replace(contestant, is_teacher=True)


def _run_teacher(run: Path, *, reporter: Reporter) -> Contestant | None:
    """The teacher of a run, where it can be run here; a note says why not."""
    if not (run / "teacher" / "teacher.json").is_file():
        reporter.note(f"  {run.name} is timed without its teacher: it has none of its own")
        return None
    teacher = TeacherFolder(run / "teacher")
    if not teacher.is_weighable:
        reporter.note(f"  {run.name} is timed without its teacher: of the kind '{teacher.facts.kind}' none can be run")
        return None
    contestant = _of_run(teacher)
    if missing := _missing_package(contestant):
        reporter.note(
            f"  {run.name} is timed without its teacher: '{missing}' is missing, pip install 'limbeck\\[train]'"
        )
        return None
    return replace(contestant, is_teacher=True)


def _of_run(teacher: TeacherFolder) -> Contestant:
    facts = teacher.facts
    kind = "teacher" if teacher.is_encoder else "student"
    name = Path(facts.name).name or facts.name
    return Contestant(name=name, kind=kind, folder=teacher.folder, max_length=facts.max_length)


def _missing_package(contestant: Contestant) -> str | None:
    """What a teacher needs that is not installed; what was exported needs nothing more."""
    if (contestant.folder / "model.onnx").is_file():
        return None
    return next((package for package in ("torch", "transformers") if find_spec(package) is None), None)


def _renamed(contestants: list[Contestant]) -> list[Contestant]:
    """With the name of its run before a name that stands for more than one folder."""
    folders = {
        name: {one.folder for one in contestants if one.name == name} for name in {one.name for one in contestants}
    }
    return [
        replace(one, name=f"{_home(one.folder)}/{one.name}") if len(folders[one.name]) > 1 else one
        for one in contestants
    ]


def _home(folder: Path) -> str:
    parent = folder.resolve().parent
    return parent.parent.name if parent.name == "models" else parent.name


def _refuse_mixed(contestants: Sequence[Contestant]) -> None:
    pairs = [one.name for one in contestants if one.pair]
    singles = [one.name for one in contestants if one.pair is False]
    if pairs and singles:
        raise ModelsNotAlike(of_pairs=pairs, of_single_texts=singles)
