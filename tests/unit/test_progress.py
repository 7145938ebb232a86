"""What the person who waits gets to see: bars on a terminal, lines in a log, nothing when silent."""

import io

import pytest
from rich.console import Console

from limbeck import progress
from limbeck.progress import Reporter, SilentReporter, TerminalReporter, counted, rate_line


class Clock:
    """A clock that advances only on request."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class CountingBar:
    """A bar that remembers."""

    def __init__(self) -> None:
        self.amounts: list[int] = []

    def advance(self, amount: int = 1, *, note: str = "") -> None:
        del note
        self.amounts.append(amount)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


def reporter_to(log: io.StringIO, *, terminal: bool = False) -> TerminalReporter:
    return TerminalReporter(Console(file=log, force_terminal=terminal, highlight=False, width=60, color_system=None))


def test_a_log_gets_a_line_every_ten_seconds_and_one_at_the_end(log: io.StringIO, clock: Clock) -> None:
    with reporter_to(log).bar("labelling", total=4000, unit="rows") as bar:
        for _ in range(20):
            clock.now += 1.0
            bar.advance(100)

    assert log.getvalue().splitlines() == [
        "  labelling: 1,000/4,000, 100 rows/s, 30 s left",
        "  labelling: 2,000/4,000, 100 rows/s, 20 s left",
        "  labelling: 2,000 rows in 20.0 s, 100 rows/s",
    ]


def test_a_note_is_shown_after_the_rate(log: io.StringIO, clock: Clock) -> None:
    with reporter_to(log).bar("training", total=20, unit="steps") as bar:
        clock.now = 10.0
        bar.advance(10, note="loss 0.31")

    assert "1 steps/s, 10 s left loss 0.31" in log.getvalue()


def test_quick_work_gets_one_line_without_a_rate(log: io.StringIO, clock: Clock) -> None:
    clock.now = 5.0

    with reporter_to(log).bar("export", total=1, unit="files") as bar:
        bar.advance()

    assert log.getvalue() == "  export: 1 files in 0.0 s\n"


def test_square_brackets_in_a_description_are_text(log: io.StringIO) -> None:
    with reporter_to(log).bar("reading [train]", total=1, unit="files") as bar:
        bar.advance()

    assert "reading [train]: 1 files" in log.getvalue()


def test_a_failure_is_not_reported_as_finished(log: io.StringIO) -> None:
    def fail() -> None:
        with reporter_to(log).bar("export", total=1, unit="files"):
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    assert log.getvalue() == ""


def test_a_long_note_stays_on_one_line(log: io.StringIO) -> None:
    text = "the corpus is kept in " + "/".join(["folder"] * 20)

    reporter_to(log).note(text)

    assert log.getvalue() == text + "\n"


@pytest.mark.parametrize("text", ["[teacher] near_chance", "closing [/] tags", "[red]x.csv", "\\[x]", ":x: smile"])
@pytest.mark.parametrize("terminal", [True, False])
def test_text_arrives_letter_for_letter(log: io.StringIO, text: str, *, terminal: bool) -> None:
    reporter = reporter_to(log, terminal=terminal)

    reporter.note(text)
    reporter.note(text, style="warning")
    reporter.stage(text, text)
    reporter.stage(text, text, is_reused=True)
    with reporter.bar(text, total=1, unit="rows") as bar:
        bar.advance(note=text)

    lines = log.getvalue().splitlines()
    assert lines[:4] == [text, text, f"▸ {text}  {text}", f"✓ {text}  {text}"]
    assert f"  {text}: 1 rows in 0.0 s" in lines[-1]


def test_a_note_of_a_bar_is_text() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=140, color_system=None)

    with TerminalReporter(console).bar("reading [/]", total=2, unit="rows") as bar:
        bar.advance(note="[dim]class [/] :x:")
        line = _drawn(console, width=140)

    assert "reading [/]" in line
    assert "[dim]class [/] :x:" in line


def test_styles_colour_a_line_and_add_no_letters() -> None:
    log = io.StringIO()
    reporter = TerminalReporter(Console(file=log, force_terminal=True, highlight=False, color_system="standard"))

    reporter.note("plain")
    reporter.note("careful", style="warning")
    reporter.stage("corpus", "not made yet")

    plain, warning, stage = log.getvalue().splitlines()
    assert plain == "plain"
    assert warning == "\x1b[33mcareful\x1b[0m"
    assert stage == "\x1b[36m▸\x1b[0m \x1b[1mcorpus\x1b[0m  \x1b[2mnot made yet\x1b[0m"


def test_a_terminal_gets_a_bar_and_then_the_total(log: io.StringIO) -> None:
    with reporter_to(log, terminal=True).bar("labelling", total=3, unit="rows") as bar:
        bar.advance(2, note="half way")
        bar.advance(1)

    assert "labelling: 3 rows in 0.0 s" in log.getvalue().splitlines()[-1]


def test_the_silent_reporter_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    reporter: Reporter = SilentReporter()

    reporter.note("nobody hears this")
    reporter.stage("nor", "this")
    with reporter.bar("nor sees this", total=1, unit="rows") as bar:
        bar.advance(1, note="at all")

    assert capsys.readouterr() == ("", "")


def test_the_terminal_reporter_leaves_standard_output_to_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    TerminalReporter().note("reading")

    assert capsys.readouterr() == ("", "reading\n")


def test_counted_moves_the_bar_once_for_each_item() -> None:
    bar = CountingBar()

    items = list(counted("abc", bar))

    assert items == ["a", "b", "c"]
    assert bar.amounts == [1, 1, 1]


def rates(log: io.StringIO, *, terminal: bool) -> Console:
    return Console(file=log, force_terminal=terminal, highlight=False, width=40, color_system=None)


def test_work_of_unknown_amount_shows_its_rate_on_one_line_after_two_seconds(log: io.StringIO, clock: Clock) -> None:
    with rate_line(unit="rows", console=rates(log, terminal=True)) as advance:
        for clock.now in (1.0, 1.9, 2.0, 2.1, 4.0, 4.1):
            advance(1000)
        clock.now = 5.0

    assert [line.rstrip() for line in log.getvalue().split("\r")] == [
        "",
        "3,000 rows, 1,500 rows/s",
        "5,000 rows, 1,250 rows/s",
        "6,000 rows, 1,200 rows/s",
    ]
    assert log.getvalue().endswith("\n")


def test_quick_work_of_unknown_amount_shows_nothing(log: io.StringIO, clock: Clock) -> None:
    with rate_line(unit="rows", console=rates(log, terminal=True)) as advance:
        clock.now = 1.5
        advance(10)

    assert log.getvalue() == ""


def test_a_rate_is_for_terminals_alone(log: io.StringIO, clock: Clock) -> None:
    with rate_line(unit="rows", console=rates(log, terminal=False)) as advance:
        clock.now = 60.0
        advance(10)

    assert log.getvalue() == ""


def test_on_a_narrow_terminal_the_name_gives_way_and_not_the_time_left() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, record=True)

    with TerminalReporter(console).bar(
        "fine-tuning some-encoder-of-a-long-name (bf16)", total=6_327, unit="rows"
    ) as bar:
        bar.advance(1_015, note="epoch 1, loss 0.684, dev 81.4%")
        line = _drawn(console)

    assert "1,015/6,327" in line
    assert "rows/s" in line
    assert ":" in line.split("rows/s")[1]  # the time that is left
    assert line.index("1,015") - line.index("━") >= 10  # room for a bar that one can see
    assert len(line.rstrip()) <= 80


def _drawn(console: Console, *, width: int = 80) -> str:
    """The line that the live bar would draw now."""
    live = console._live_stack[-1]
    plain = Console(file=io.StringIO(), width=width)
    plain.print(live.get_renderable())
    written: io.StringIO = plain.file  # type: ignore[assignment]  # made here
    return written.getvalue().splitlines()[0]
