"""Errors about the machine: packages, disks, paths, processes."""

from collections.abc import Sequence

from limbeck.errors.message import LimbeckError, did_you_mean


class DependencyMissing(LimbeckError):
    """A command needs a package that the installed extras do not bring."""

    def __init__(self, *, package: str, purpose: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs the package '{package}'", advice=f"Run: pip install 'limbeck[{extra}]'")


class DiskFull(LimbeckError):
    """No space is left where something was being written."""

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"no space left on the disk while writing '{path}'",
            advice="Free some space, then give the same command again; a run goes on where it stopped.",
        )


class PathUnusable(LimbeckError):
    """A file or folder that is not what is needed there, or that this user may not use."""

    def __init__(self, *, path: str, reason: str, advice: str) -> None:
        super().__init__(f"cannot use '{path}': {reason}", advice=advice)


class ProcessLost(LimbeckError):
    """The system ended one of the processes that shared a piece of work."""

    def __init__(self, *, processes: int) -> None:
        super().__init__(
            f"one of {processes:,} processes was ended by the system, most often because memory ran out",
            advice="Run again with fewer: processes = 1 in [augmentation], or --set augmentation.processes=1.",
        )


class TrainingLost(LimbeckError):
    """The system ended the process of a training while no other one was running."""

    def __init__(self, *, what: str) -> None:
        super().__init__(
            f"the process that trained '{what}' was ended by the system, most often because memory ran out",
            advice="Free some memory, or lower distillation.batch_size; the same command goes on where it stopped.",
        )


class ModelNotTimed(LimbeckError):
    """The process that held a model while it was timed has ended."""

    def __init__(self, *, last_words: str) -> None:
        first, *rest = last_words.splitlines()
        super().__init__(
            first.rstrip(":"),
            found=f"its last line of output: {rest[-1].strip()}" if rest else "",
            advice="Check that the folder holds a complete classifier, and that memory is enough for all models at "
            "once.",
        )


class EngineUnusable(LimbeckError):
    """An engine was asked for that cannot run this model on this machine."""

    def __init__(self, *, engine: str, model: str, reason: str) -> None:
        self.engine = engine
        super().__init__(
            f"the {engine} engine cannot run the model '{model}'",
            found=reason,
            advice="Use the engine `onnx`, which runs every model, or `auto`, which takes the quicker one that can.",
        )


class TrackerUnusable(LimbeckError):
    """A tracker of the recipe that accelerate does not know, or whose package is not installed."""

    def __init__(self, *, name: str, known: Sequence[str], available: Sequence[str]) -> None:
        if name in known:
            extra = "pip install 'limbeck[track]'" if name == "tensorboard" else f"pip install {name}"
            reason, advice = "its package is not installed", f"Run: {extra}"
        else:
            reason = f"there is no such tracker{did_you_mean(name, known)}; known: {', '.join(known)}"
            advice = "Correct tracking.trackers in the recipe."
        super().__init__(
            f"cannot track with '{name}': {reason}",
            found=f"installed here: {', '.join(available) or 'none'}",
            advice=advice,
        )
