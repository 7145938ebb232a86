"""Errors about the machine: packages, disks, paths."""

from limbeck.errors.message import LimbeckError


class DependencyMissing(LimbeckError):
    """A command needs a package that the installed extras do not bring."""

    def __init__(self, *, package: str, purpose: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs the package '{package}'\nRun: pip install 'limbeck[{extra}]'")


class DiskFull(LimbeckError):
    """No space is left where something was being written."""

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"no space left on the disk while writing '{path}'\n"
            f"Free some space, then give the same command again; a run goes on where it stopped."
        )


class PathUnusable(LimbeckError):
    """A file or folder that is not what is needed there, or that this user may not use."""

    def __init__(self, *, path: str, reason: str, advice: str) -> None:
        super().__init__(f"cannot use '{path}': {reason}\n{advice}")
