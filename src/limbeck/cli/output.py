"""Where rows are written: standard output, or a file that appears only when it is complete."""

import gzip
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from limbeck.artifacts.disk import refuse_place
from limbeck.progress import VisibleStream


@contextmanager
def written_when_complete(out: Path | None, *, is_binary: bool = False) -> Iterator[TextIO | BinaryIO]:
    """Standard output, or a file, which appears only when it is complete, and may be the input file.

    On a terminal control characters of texts are shown, not obeyed.
    """
    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # rows are UTF-8 whatever the terminal's encoding is
        yield cast(TextIO, VisibleStream(sys.stdout)) if sys.stdout.isatty() else sys.stdout
        return
    refuse_place(out)
    scratch = out if out.exists() and not out.is_file() else out.with_name(f"{out.name}.partial")  # out may be a pipe
    try:
        with _opened(scratch, is_packed=out.suffix.lower() == ".gz", is_binary=is_binary) as sink:
            yield sink
        scratch.replace(out)
    except BaseException:
        if scratch != out:
            scratch.unlink(missing_ok=True)
        raise


def _opened(path: Path, *, is_packed: bool, is_binary: bool) -> TextIO | BinaryIO:
    if is_binary:
        return path.open("wb")
    if is_packed:
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


def row_progress(*, is_quiet: bool) -> AbstractContextManager[Callable[[int], None]]:
    """Shows the number of finished rows on the terminal, unless the rows themselves are printed there."""
    from limbeck.progress import rate_line

    return nullcontext(lambda _: None) if is_quiet else rate_line(unit="rows")
