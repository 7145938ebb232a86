"""What a run shows while it runs: stage headings, bars with rates, notes; all plain text. Every room may use it."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, Protocol, TextIO, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Column
from rich.text import Text

Item = TypeVar("Item")
WIDE = 120  # characters of a terminal that has space for all columns of a bar
SECONDS_BETWEEN_LINES = 10.0  # without a terminal (logs, pipes)
SECONDS_BEFORE_RATES, SECONDS_BETWEEN_RATES = 2.0, 0.2

Style = Literal["", "dim", "warning"]
RICH_STYLES: dict[Style, str] = {"": "", "dim": "dim", "warning": "yellow"}


# Control characters as Unicode has pictures of them; those without one as a sign for an unknown character. So are signs
# that reorder or hide text around them, and half characters, which no terminal can show.
UNSEEN = (*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000))
HIDDEN = (0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0xFEFF, *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080))
PICTURES = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys((*UNSEEN, *HIDDEN), 0xFFFD),
}


def visible(text: str) -> str:
    """The text with pictures of control characters in their place: a name in a file could move the cursor, or more."""
    return text if text.isprintable() else text.translate(PICTURES)


def visible_json(data: Any) -> str:
    """JSON for programs and for the terminal: the same characters are escaped, so that nothing is lost."""
    text = json.dumps(data, indent=1, ensure_ascii=False)
    if text.isascii():
        return text
    return "".join(json.dumps(sign)[1:-1] if ord(sign) in PICTURES else sign for sign in text)


class VisibleStream:
    """Writes to a terminal what `visible` makes of it."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write the text."""
        return self._terminal.write(visible(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write the lines."""
        self._terminal.writelines(map(visible, lines))

    def flush(self) -> None:
        """Hand it on."""
        self._terminal.flush()


class _PlainConsole(Console):
    """Shows control characters of a text, and sends only its own to the terminal."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def plain_console(*, stderr: bool = False, soft_wrap: bool = False) -> Console:
    """A console that shows text as it is, also in tables: "[b]" and ":x:" are class names and file names here."""
    return _PlainConsole(stderr=stderr, soft_wrap=soft_wrap, markup=False, emoji=False, highlight=False)


class Bar(Protocol):
    """The progress of one task."""

    def advance(self, amount: int = 1, *, note: str = "") -> None:
        """Count `amount` more as done; `note` is shown after the rate until the next one."""


class Reporter(Protocol):
    """Where the rooms report what they do. Text is shown as it is: square brackets are not markup."""

    def note(self, text: str, *, style: Style = "") -> None:
        """Print one line."""

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        """The heading of a stage: its name, and why it runs or is reused."""

    def bar(self, what: str, *, total: int, unit: str) -> AbstractContextManager[Bar]:
        """A bar for a task of known size: `with reporter.bar(…) as bar:`."""


class _Rate(ProgressColumn):
    """Items per second since the start of the task."""

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        rate = task.completed / elapsed if elapsed > 0 else 0.0
        return Text(f"{rate:,.0f} {task.fields['unit']}/s", style="cyan")


class TerminalReporter:
    """Bars on a terminal; plain lines elsewhere."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or plain_console(stderr=True)

    def note(self, text: str, *, style: Style = "") -> None:
        """Print one line, above any bar."""
        self.console.print(Text(text, style=RICH_STYLES[style]), soft_wrap=True)

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        """Print one line: "▸ corpus  not made yet", "✓ corpus  reused: …"."""
        sign = ("✓", "green") if is_reused else ("▸", "cyan")
        self.console.print(Text.assemble(sign, " ", (name, "bold"), "  ", (text, "dim")), soft_wrap=True)

    @contextmanager
    def bar(self, what: str, *, total: int, unit: str) -> Iterator[Bar]:
        """A live bar on a terminal, a line every ten seconds elsewhere."""
        if not self.console.is_terminal:
            yield (lines := _Lines(self.console, what, total=total, unit=unit))
            lines.close()
            return
        is_wide = self.console.width >= WIDE
        columns = _columns(is_wide=is_wide)
        with Progress(*columns, console=self.console, transient=True, expand=not is_wide) as progress:
            progress.add_task(what, total=total, unit=unit, note="")
            started = time.monotonic()
            yield _Live(progress)
            seconds = time.monotonic() - started
            done = progress.tasks[0].completed
        self.note(_finished(what, done=int(done), unit=unit, seconds=seconds), style="dim")


def _columns(*, is_wide: bool) -> tuple[ProgressColumn, ...]:
    """The columns of a bar. On a narrow terminal the name is shortened first, not the remaining time."""
    amount = TextColumn("{task.completed:,.0f}/{task.total:,.0f}", table_column=Column(no_wrap=True))
    if not is_wide:
        narrow = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        name = TextColumn("  {task.description}", markup=False, table_column=narrow)
        return name, BarColumn(bar_width=10), amount, _Rate(table_column=Column(no_wrap=True)), TimeRemainingColumn()
    return (
        TextColumn("  {task.description}", markup=False),
        BarColumn(bar_width=30),
        amount,
        _Rate(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", style="dim", markup=False),
    )


class _Live:
    """A bar that rich draws."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def advance(self, amount: int = 1, *, note: str = "") -> None:
        task = self._progress.tasks[0]
        self._progress.update(task.id, advance=amount, note=note or task.fields["note"])


class _Lines:
    """The same for a log: a line every ten seconds, and one at the end."""

    def __init__(self, console: Console, what: str, *, total: int, unit: str) -> None:
        self._console, self._what, self._total, self._unit = console, what, total, unit
        self._done, self._started = 0, time.monotonic()
        self._last_line = self._started

    def advance(self, amount: int = 1, *, note: str = "") -> None:
        self._done += amount
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            rate = self._done / (now - self._started)
            left = (self._total - self._done) / rate if rate else 0.0
            text = (
                f"  {self._what}: {self._done:,}/{self._total:,}, {rate:,.0f} {self._unit}/s, {left:,.0f} s left {note}"
            )
            self._console.print(Text(text.rstrip()), soft_wrap=True)

    def close(self) -> None:
        seconds = time.monotonic() - self._started
        line = _finished(self._what, done=self._done, unit=self._unit, seconds=seconds)
        self._console.print(Text(line, style="dim"), soft_wrap=True)


def _finished(what: str, *, done: int, unit: str, seconds: float) -> str:
    rate = f", {done / seconds:,.0f} {unit}/s" if seconds >= 0.1 else ""
    return f"  {what}: {done:,} {unit} in {seconds:,.1f} s{rate}"


class SilentReporter:
    """Shows nothing; for tests and for callers who want no output."""

    def note(self, text: str, *, style: Style = "") -> None:
        """Drop the line."""

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        """Drop the line."""

    @contextmanager
    def bar(self, what: str, *, total: int, unit: str) -> Iterator[Bar]:
        """A bar that is not shown."""
        del what, total, unit
        yield _SilentBar()


class _SilentBar:
    def advance(self, amount: int = 1, *, note: str = "") -> None:
        pass


@contextmanager
def rate_line(*, unit: str, console: Console | None = None) -> Iterator[Callable[[int], None]]:
    """A function that counts items of a task of unknown size, and shows count and rate on one line of the terminal.

    Nothing is shown in the first seconds, or without a terminal.
    """
    console = console or plain_console(stderr=True)
    done, started, shown_at = 0, time.monotonic(), 0.0

    def show(now: float, *, end: str = "") -> None:
        line = f"{done:,} {unit}, {done / (now - started):,.0f} {unit}/s"
        console.file.write(f"\r{line:<{console.width - 1}}{end}")
        console.file.flush()

    def advance(amount: int) -> None:
        nonlocal done, shown_at
        done, now = done + amount, time.monotonic()
        is_late = now - started >= SECONDS_BEFORE_RATES and now - shown_at >= SECONDS_BETWEEN_RATES
        if is_late and console.is_terminal:
            shown_at = now
            show(now)

    try:
        yield advance
    finally:
        if shown_at:
            show(time.monotonic(), end="\n")


def counted(items: Iterable[Item], bar: Bar) -> Iterator[Item]:
    """The items; the bar advances by one after each."""
    for item in items:
        yield item
        bar.advance()
