"""What it brings to compute waiting short texts of several requests in one call: the queue of `limbeck serve` alone.

    python benchmarks/serving_turns.py [MODEL] [--clients 64] [--rounds 15] [--out FILE]

MODEL is a folder that the native engine runs; by default the one of serving_load.py. So many clients ask for one text
each, and again as soon as they have their answer; nothing goes over a network. Rounds with and without merging
alternate, in one process; the ratio is the median of the pairs. Short texts are handed to the thread of the model here,
as in a server that has other work too.
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.serving_models import bilstm_folder
from benchmarks.serving_page import RESULTS, circumstances, keep, turns_section
from limbeck.runtime.classifier import load
from limbeck.serving.work_queue import WorkQueue

SECONDS = 0.5  # of a round
TEXT = "a gorgeous, witty film with a story that stays with you for a long time"


async def rate(queue: WorkQueue, model: str, compute: object, *, clients: int, merges: bool) -> float:
    """Texts per second."""
    until, done = time.perf_counter() + SECONDS, 0

    async def ask(number: int) -> None:
        nonlocal done
        while time.perf_counter() < until:
            await queue.run(model, [f"{TEXT} {number}"], compute, merges=merges)  # type: ignore[arg-type]
            done += 1

    await asyncio.gather(*(ask(number) for number in range(clients)))
    return done / SECONDS


async def measured(folder: Path, *, clients: int, rounds: int) -> dict[str, object]:
    """The rates of both, and their ratio."""
    classifier, queue = load(folder, threads=1), WorkQueue()
    rates: dict[bool, list[float]] = {True: [], False: []}
    for round_ in range(rounds + 1):  # the first one warms up
        for merges in (True, False):
            found = await rate(queue, "model", classifier.logits, clients=clients, merges=merges)
            if round_:
                rates[merges].append(found)
    queue.stop()
    ratios = [one / other for one, other in zip(rates[True], rates[False], strict=True)]
    return {
        "model": classifier.facts.name,
        "engine": classifier.engine,
        "clients": clients,
        "rounds": rounds,
        "merged_texts_per_second": round(median(rates[True])),
        "single_texts_per_second": round(median(rates[False])),
        "ratio": round(median(ratios), 2),
    }


def main() -> None:
    """Measure, print, and write."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model", type=Path, nargs="?")
    options.add_argument("--work", type=Path, default=Path("runs/benchmark-serving"), help="where models are kept")
    options.add_argument("--clients", type=int, default=64)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--out", type=Path, default=RESULTS)
    asked, before = options.parse_args(), circumstances()
    model = asked.model or bilstm_folder(asked.work)
    found = {**before, **asyncio.run(measured(model, clients=asked.clients, rounds=asked.rounds))}
    keep("turns", found, file=asked.out)
    print(turns_section(found))


if __name__ == "__main__":
    main()
