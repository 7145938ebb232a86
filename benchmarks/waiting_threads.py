"""Training a Bi-LSTM on an idle and on a busy machine, by how long threads spin before they sleep: rows a second.

    python benchmarks/waiting_threads.py

Every measurement is a process of its own, since OpenMP reads its settings once. The settings take turns, so that
noise hits all alike; the busy machine is this one with one process more that does nothing but count.
"""

import os
import statistics
import subprocess
import sys
import time

from limbeck.cores import SPINS

ROUNDS = 3
SETTINGS = {
    "as it comes": {},
    "as Limbeck sets it": {"GOMP_SPINCOUNT": SPINS},
    "never spinning": {"OMP_WAIT_POLICY": "PASSIVE"},
}
STEPS, ROWS, TOKENS, WORDS = 40, 64, 25, 18_000


def main() -> None:
    """Print medians for both situations."""
    if sys.argv[1:] == ["measure"]:
        print(rows_per_second())
        return
    for situation in ("idle", "busy"):
        hog = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if situation == "busy" else None
        try:
            found: dict[str, list[float]] = {name: [] for name in SETTINGS}
            for _ in range(ROUNDS):
                for name, samples in found.items():
                    samples.append(_measured(SETTINGS[name]))
        finally:
            if hog:
                hog.kill()
                hog.wait()
        for name, samples in found.items():
            print(f"{situation}, {name}: {statistics.median(samples):,.0f} rows/s", flush=True)


def _measured(setting: dict[str, str]) -> float:
    environment = {**os.environ, **setting}
    command = [sys.executable, __file__, "measure"]
    return float(subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout)


def rows_per_second() -> float:
    """Rows of training a second, warmed up, in this process."""
    import torch

    from limbeck.models.bilstm import bilstm
    from limbeck.recipe.student import BiLstm
    from limbeck.training.optimiser import optimiser_for

    model = bilstm(BiLstm(), vocabulary_size=WORDS, embedding_size=100, labels=["a", "b"], pair=False).train()
    optimiser = optimiser_for(model, learning_rate=1e-3, weight_decay=0.0)
    ids, targets = torch.randint(3, WORDS, (ROWS, TOKENS)), torch.randn(ROWS, 2)
    started = 0.0
    for step in range(STEPS + 5):
        if step == 5:
            started = time.perf_counter()
        loss = (model(ids).logits - targets).square().mean()
        torch.autograd.backward(loss)
        optimiser.step()
        optimiser.zero_grad()
    return STEPS * ROWS / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
