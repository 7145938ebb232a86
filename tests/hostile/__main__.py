"""`make hostile`: every campaign in its long form, the results, and the page that shows them.

    python -m tests.hostile [NAME ...] [--seed N] [--times FACTOR]

Each campaign goes in parts, with seeds of their own, and its result is kept as soon as it is done. The exit status is 1
if there was a finding. With another seed or fewer inputs than usual, nothing is written down.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from limbeck.timing.machine import machine_facts
from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.impossible import CampaignImpossible
from tests.hostile.page import PAGE, RESULTS, page_of


@dataclass(frozen=True)
class Size:
    """How many inputs a campaign tries, and how many of them at a time: between two parts the progress moves."""

    count: int
    part: int


SIZES = {
    "outside": Size(16, 16),
    "files": Size(10_000, 500),
    "recipes": Size(20_000, 1_000),
    "folders": Size(6_500, 250),
    "graphs": Size(6_000, 500),
    "extension": Size(60_000, 4_000),
    "server": Size(16_000, 16_000),
    "kills": Size(125, 5),
}


def main(words: Sequence[str]) -> int:
    """Run the campaigns that are named, or all."""
    asked = _parser().parse_args(words)
    names = asked.names or list(SIZES)
    if unknown := [name for name in names if name not in SIZES]:
        near = get_close_matches(unknown[0], SIZES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        print(f"There is no campaign {unknown[0]!r}.{hint} There are {', '.join(SIZES)}.", file=sys.stderr)
        return 2
    console = Console(stderr=True)
    is_whole = asked.seed == 0 and asked.times == 1.0
    wrong = 0
    for name in names:
        began = time.monotonic()
        try:
            found = run(name, seed=asked.seed, times=asked.times, console=console)
        except CampaignImpossible as reason:
            console.print(f"{name}: not run, as {reason}", markup=False)
            continue
        wrong += len(found.findings)
        console.print(f"{name}: {found.tried:,} tried, {found.clean:,} clean", markup=False)
        for finding in found.findings:
            console.print(finding, markup=False, highlight=False)
        if is_whole:
            keep(found, seconds=time.monotonic() - began)
    return 1 if wrong else 0


def run(name: str, *, seed: int, times: float, console: Console) -> Campaign:
    """A whole campaign, part by part."""
    size = SIZES[name]
    count = max(1, round(size.count * times))
    campaign: Callable[..., Campaign] = getattr(import_module(f"tests.hostile.campaigns.{name}"), name)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    found: list[Campaign] = []
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(name, total=count)
        for number, part in enumerate(parts(count, size.part)):
            found.append(campaign(part, seed=1000 * seed + number))
            progress.advance(task, part)
    return together(found)


def parts(count: int, most: int) -> Iterator[int]:
    """Numbers of at most `most` that add up to `count`."""
    for first in range(0, count, most):
        yield min(most, count - first)


def together(parts: Sequence[Campaign]) -> Campaign:
    """The parts of a campaign as one."""
    detail: Counter[str] = Counter()
    for part in parts:
        detail.update(part.detail)
    return Campaign(
        parts[0].name,
        sum(part.tried for part in parts),
        sum(part.clean for part in parts),
        tuple(finding for part in parts for finding in part.findings),
        dict(detail),
    )


def keep(found: Campaign, *, seconds: float) -> None:
    """Write the result beside those of the other campaigns, and the page again."""
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    results[found.name] = {
        "tried": found.tried,
        "clean": found.clean,
        "findings": list(found.findings),
        "detail": dict(sorted(found.detail.items())),
        "seconds": round(seconds),
        "machine": machine_facts(threads=1),
    }
    ordered = {name: results[name] for name in SIZES if name in results}
    RESULTS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page_of(ordered), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hostile",
        description="Try what somebody could hand to Limbeck, and count what goes wrong.",
        epilog="Examples: python -m tests.hostile · python -m tests.hostile files recipes · "
        "python -m tests.hostile graphs --seed 7 --times 0.1",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"campaigns; default: all. {', '.join(SIZES)}")
    parser.add_argument("--seed", type=int, default=0, help="other inputs than the usual ones (default: 0)")
    parser.add_argument(
        "--times", type=float, default=1.0, help="so many times the usual number of inputs (default: 1)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
