"""Rows per second of student training and of labelling, and where the time goes; meant for a GPU.

    python benchmarks/gpu_training.py [--batch-sizes 64 128 512 1024] [--precisions fp32 bf16] [--out FILE]

Rows are made up, so no data is needed: one in eight is as long as a phrase of SST-2, the others as a sentence of a
review, and words are as frequent as Zipf has it. The student is the Bi-LSTM of the recipes on SST-2 with transfer text
(40,000 words of width 400 that are fixed, hidden 300). For every batch size and precision three ways take turns:

    limbeck      the training loop of `limbeck run`: training rows, objective, accelerate, checkpoints, CUDA graphs
    one_by_one   the same, without CUDA graphs
    plain        what one writes by hand for this one student: one bidirectional cuDNN LSTM over packed rows, AdamW, a
                 loss

The first epoch of each warms up, the second is timed; the time that checkpoints take is separate. A profile of some
steps at one batch size then says how long the device was busy, which kernels and calls took the time, and how often
somebody waited for the device. Last, a random teacher of the shape of BERT-base is asked for logits. Without a GPU
everything runs in sizes that only show that it works.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from limbeck.distillation.objective import Objective
from limbeck.distillation.student_with_objective import StudentWithObjective
from limbeck.distillation.terms.term import Shapes
from limbeck.distillation.training_rows import TrainingRows
from limbeck.models.students import word_student
from limbeck.progress import SilentReporter
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.student import BiLstm
from limbeck.teacher.encoder import Encoder
from limbeck.timing.machine import machine_facts
from limbeck.training.batches import length_batches
from limbeck.training.cuda_graphs import Slots
from limbeck.training.device import Arithmetic, training_device
from limbeck.training.loop import train
from limbeck.training.token_rows import TokenRows

RESULTS = Path(__file__).resolve().parent / "results"
PHRASE_SHARE = 1 / 8  # of rows; SST-2's phrases beside sentences of reviews
PHRASE_WORDS, SENTENCE_WORDS = (9.4, 8.0, 1, 52), (19.0, 9.0, 3, 40)  # mean, standard deviation, fewest, most
LABELS, SEED, PAD = ["negative", "positive"], 0, 0
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpyAsync", "aten::item")
SPANS = ("part:", "ProfilerStep", "Optimizer.")  # what the profiler draws over the kernels inside
CALLS = (*WAITS, "cudaHostAlloc", "cudaLaunchKernel", "cudaMalloc")
STEPS_BEFORE_PROFILE, PROFILED_STEPS = 20, 20

Places = npt.NDArray[np.int64]
Step = Callable[[Places, float], None]


@dataclass(frozen=True)
class Sizes:
    """How large everything is."""

    rows: int
    words: int
    width: int
    hidden: int
    steps: int  # of a timed epoch, at most
    teacher: dict[str, int]  # as BertConfig says it
    teacher_rows: int


FULL = Sizes(500_000, 40_000, 400, 300, steps=400, teacher={}, teacher_rows=60_000)
TINY = Sizes(
    6_000,
    500,
    24,
    12,
    steps=50,
    teacher={"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64},
    teacher_rows=200,
)


def main() -> None:
    """Measure, print, write."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch-sizes", nargs="+", type=int, default=[64, 128, 512, 1024])
    options.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    options.add_argument("--profiled-batch", type=int, default=128, help="batch size of the profiles")
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--pooling", choices=["max", "last", "mean", "attention"], default="max")
    options.add_argument("--no-teacher", action="store_true", help="leave out the labelling")
    options.add_argument("--out", type=Path, default=RESULTS / "gpu_training.json")
    options.add_argument("--beside", default="", help='what ran on the GPU meanwhile: "two other trainings"')
    asked = options.parse_args()
    found = measure(asked, FULL if torch.cuda.is_available() else TINY)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    show(found)


def measure(asked: argparse.Namespace, sizes: Sizes) -> dict[str, Any]:
    """All of it."""
    task = Task.of(sizes, pooling=asked.pooling)
    training = [
        line_of(task, batch_size, precision, rounds=asked.rounds)
        for precision in asked.precisions
        for batch_size in asked.batch_sizes
    ]
    profiles = [profiled(task, asked.profiled_batch, precision) for precision in asked.precisions]
    labelling = [] if asked.no_teacher else [labelled(sizes, precision) for precision in asked.precisions]
    return {
        "what": "rows per second of student training and of labelling",
        "beside": asked.beside,
        "student": {"kind": "bilstm", "words": sizes.words, "width": sizes.width, "hidden_size": sizes.hidden},
        "pooling": asked.pooling,
        "rows": sizes.rows,
        "words_a_row": round(float(task.training_rows.lengths().mean()), 1),
        "training": training,
        "profiles": profiles,
        "labelling": labelling,
        "machine": machine_facts(threads=torch.get_num_threads()),
    }


# ---- the task ----


@dataclass(frozen=True)
class Task:
    """Rows on the device, and the student that learns from them."""

    sizes: Sizes
    section: BiLstm
    training_rows: TrainingRows

    @classmethod
    def of(cls, sizes: Sizes, *, pooling: Any) -> "Task":
        """Made-up rows, and what a teacher might have said of them."""
        device, random = training_device(), np.random.default_rng(SEED)
        lengths = row_lengths(sizes.rows, random)
        ids = zipf_words(int(lengths.sum()), sizes.words, random)
        rows: list[Any] = np.split(ids, np.cumsum(lengths)[:-1])
        training_rows = TrainingRows(
            columns={"input_ids": TokenRows.of([rows], device=device)},
            pad=PAD,
            labels=torch.full((sizes.rows,), -1, device=device),
            teacher_logits=torch.randn((sizes.rows, len(LABELS)), device=device),
        )
        return cls(sizes, BiLstm(hidden_size=sizes.hidden, pooling=pooling, tune_vectors=False), training_rows)

    def batches(self, batch_size: int, *, epoch: int) -> list[Places]:
        """As the product cuts them; no more than one timed epoch has."""
        return length_batches(self.training_rows.lengths(), batch_size=batch_size, seed=SEED, epoch=epoch)[
            : self.sizes.steps
        ]

    def student(self) -> Any:
        """Fresh, and the same every time."""
        torch.manual_seed(SEED)
        words, width = self.sizes.words, self.sizes.width
        return word_student(self.section, vocabulary_size=words, embedding_size=width, labels=LABELS, pair=False)


def row_lengths(rows: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Words of each row."""

    def drawn(mean: float, spread: float, fewest: int, most: int) -> npt.NDArray[np.float64]:
        shape = (mean / spread) ** 2
        return random.gamma(shape, mean / shape, rows).round().clip(fewest, most)

    is_phrase = random.random(rows) < PHRASE_SHARE
    return np.where(is_phrase, drawn(*PHRASE_WORDS), drawn(*SENTENCE_WORDS)).astype(np.int64)


def zipf_words(count: int, words: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Word numbers from 3 on, each as frequent as its place in the list has it."""
    chances = 1 / np.arange(1, words - 2)
    return 3 + np.searchsorted(np.cumsum(chances / chances.sum()), random.random(count)).clip(max=words - 4)


# ---- training ----


def line_of(task: Task, batch_size: int, precision: Arithmetic, *, rounds: int) -> dict[str, Any]:
    """All ways in turn; medians over the rounds."""
    timings: dict[str, list[dict[str, float]]] = {"limbeck": [], "one_by_one": [], "plain": []}
    for _ in range(rounds):
        timings["limbeck"].append(timed_limbeck(task, batch_size, precision, captured=True))
        timings["one_by_one"].append(timed_limbeck(task, batch_size, precision, captured=False))
        timings["plain"].append(timed_plain(task, batch_size, precision))
    line: dict[str, Any] = {"batch_size": batch_size, "precision": precision}
    for way, each in timings.items():
        line[way] = {name: round(statistics.median(one[name] for one in each), 4) for name in each[0]}
    line["limbeck_to_plain"] = round(line["limbeck"]["rows_per_second"] / line["plain"]["rows_per_second"], 3)
    print(json.dumps(line), flush=True)
    return line


def timed_limbeck(task: Task, batch_size: int, precision: Arithmetic, *, captured: bool) -> dict[str, float]:
    """Two epochs of the product's own training; the second is timed, from its first step to its last."""
    begun: list[float] = []
    ended: list[float] = []
    planned: list[list[Places]] = []

    def batches(epoch: int) -> list[Places]:
        planned.append(task.batches(batch_size, epoch=epoch))
        wait()
        begun.append(time.perf_counter())
        return planned[-1]

    def validate(_: nn.Module) -> dict[str, float]:
        wait()
        ended.append(time.perf_counter())
        return {"dev_accuracy": 0.0, "dev_loss": 0.0}

    forget_peak()
    run_training(task, batch_size, precision, batches=batches, validate=validate, captured=captured)
    finished = time.perf_counter()
    seconds = ended[-1] - begun[-1]
    return {
        **rates(planned[-1], seconds),
        "seconds_for_checkpoints": (begun[-1] - ended[0]) + (finished - ended[-1]),
    }


def run_training(
    task: Task,
    batch_size: int,
    precision: Arithmetic,
    *,
    batches: Callable[[int], list[Places]],
    validate: Callable[[nn.Module], dict[str, float]],
    after_step: Callable[[], None] = lambda: None,
    captured: bool = False,
) -> None:
    """The training loop of the product over the training rows."""
    settings = Distillation(epochs=2, batch_size=batch_size)
    student = StudentWithObjective(task.student(), Objective(settings.losses, Shapes()), teacher=None)

    def losses(model: nn.Module, places: Places | Slots, done: float) -> dict[str, Tensor]:
        after_step()  # of the step before
        with record_function("part: forward"):
            terms: dict[str, Tensor] = model(task.training_rows, places, done)
        return terms

    with tempfile.TemporaryDirectory() as work:
        train(
            student.to(training_device()),
            settings,
            arithmetic=precision,
            batches=batches,
            losses=losses,
            validate=validate,
            work_folder=Path(work),
            reporter=SilentReporter(),
            what="training",
            keep="last",
            widths=task.training_rows.all_widths() if captured else None,
        )


def timed_plain(task: Task, batch_size: int, precision: Arithmetic) -> dict[str, float]:
    """The same epoch in a loop by hand."""
    forget_peak()
    step = plain_step(task, precision)
    for epoch in range(2):
        plan = task.batches(batch_size, epoch=epoch)
        wait()
        started = time.perf_counter()
        for places in plan:
            step(places, 2e-3)
        wait()
    return rates(plan, time.perf_counter() - started)


class PlainStudent(nn.Module):
    """The same student with one bidirectional LSTM over packed rows."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(sizes.words, sizes.width, padding_idx=PAD)
        self.embeddings.weight.requires_grad_(False)
        self.lstm = nn.LSTM(sizes.width, sizes.hidden, batch_first=True, bidirectional=True)
        self.dense, self.classes = nn.Linear(2 * sizes.hidden, 200), nn.Linear(200, len(LABELS))
        self.dropout = nn.Dropout(0.3)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Logits of rows that are sorted by length, longest first; the lengths are on the CPU."""
        packed = pack_padded_sequence(self.dropout(self.embeddings(ids)), lengths, batch_first=True)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, padding_value=float("-inf"))
        answer: Tensor = self.classes(torch.relu(self.dense(self.dropout(states.amax(dim=1)))))
        return answer


def plain_step(task: Task, precision: Arithmetic) -> Step:
    """One step by hand: rows cut on the device, one loss, clipped AdamW."""
    device, tokens = training_device(), task.training_rows.columns["input_ids"]
    torch.manual_seed(SEED)
    model = PlainStudent(task.sizes).to(device)
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(learning, lr=2e-3, weight_decay=1e-4, fused=True)

    def step(places: Places, rate: float) -> None:
        optimiser.param_groups[0]["lr"] = rate
        order = places[np.argsort(-tokens.lengths[places], kind="stable")]
        lengths = torch.from_numpy(tokens.lengths[order])
        chosen = torch.from_numpy(order).to(device, non_blocking=True)
        steps = torch.arange(int(lengths[0]), device=device)
        found = tokens.flat[(tokens.bounds[chosen, None] + steps).clamp(max=len(tokens.flat) - 1)].long()
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16"):
            logits = model(found, lengths)
        torch.autograd.backward(F.mse_loss(logits.float(), task.training_rows.teacher_logits[chosen]))
        torch.nn.utils.clip_grad_norm_(learning, 1.0, foreach=True)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def rates(plan: Sequence[Places], seconds: float) -> dict[str, float]:
    """What an epoch's seconds come to."""
    return {
        "rows_per_second": round(sum(len(places) for places in plan) / seconds, 1),
        "ms_per_step": 1000 * seconds / len(plan),
        "peak_memory_mb": torch.cuda.max_memory_reserved() / 2**20 if torch.cuda.is_available() else 0.0,
    }


def wait() -> None:
    """Until the device has done all it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def forget_peak() -> None:
    """So that the next peak of memory is that of what comes."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


# ---- the profile ----


def profiled(task: Task, batch_size: int, precision: Arithmetic) -> dict[str, Any]:
    """Some steps of the product's training under the profiler, after others that warm up."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
    before, active = STEPS_BEFORE_PROFILE, PROFILED_STEPS
    with (
        parts_named(),
        profile(activities=activities, schedule=schedule(wait=before, warmup=3, active=active, repeat=1)) as watch,
    ):
        run_training(
            task,
            batch_size,
            precision,
            batches=lambda epoch: task.batches(batch_size, epoch=epoch)[: before + 3 + active],
            validate=lambda _: {"dev_accuracy": 0.0, "dev_loss": 0.0},
            after_step=watch.step,
        )
    events = watch.key_averages()
    on_device = [event for event in events if is_of_device(event) and not event.key.startswith(SPANS)]
    busy = sum(event.self_device_time_total for event in on_device) / 1000
    counts = {event.key: event.count for event in events if event.key in CALLS}
    return {
        "batch_size": batch_size,
        "precision": precision,
        "device_ms_per_step": round(busy / PROFILED_STEPS, 3),
        "kernels_per_step": round(sum(event.count for event in on_device) / PROFILED_STEPS, 1),
        "calls_per_step": {key: round(count / PROFILED_STEPS, 2) for key, count in counts.items()},
        "parts_cpu_ms_per_step": {
            event.key.removeprefix("part: "): round(event.cpu_time_total / 1000 / PROFILED_STEPS, 3)
            for event in events
            if event.key.startswith("part:") and not is_of_device(event)
        },
        "kernels": top(on_device, "self_device_time_total"),
        "cpu": top([event for event in events if not is_of_device(event)], "self_cpu_time_total"),
    }


class parts_named:  # noqa: N801  # reads as what it does
    """Inside, the parts of a step that accelerate and the training rows do have names in the profile."""

    PARTS = (
        (Accelerator, "backward"),
        (Accelerator, "clip_grad_norm_"),
        (TrainingRows, "inputs"),
        (TrainingRows, "slots"),
    )

    def __enter__(self) -> None:
        self._were = [(owner, name, getattr(owner, name)) for owner, name in self.PARTS]
        for owner, name, plain in self._were:
            setattr(owner, name, _named(plain, f"part: {name}"))

    def __exit__(self, *_: object) -> None:
        for owner, name, plain in self._were:
            setattr(owner, name, plain)


def _named(plain: Callable[..., Any], name: str) -> Callable[..., Any]:
    def watched(*arguments: Any, **options: Any) -> Any:
        with record_function(name):
            return plain(*arguments, **options)

    return watched


def is_of_device(event: Any) -> bool:
    """Whether it is of the GPU."""
    return str(event.device_type).endswith("CUDA")


def top(events: Sequence[Any], by: str, *, most: int = 15) -> list[dict[str, Any]]:
    """Those that took longest themselves."""
    ranked = sorted(events, key=lambda event: -getattr(event, by))[:most]
    return [
        {
            "name": event.key[:100],
            "ms_per_step": round(getattr(event, by) / 1000 / PROFILED_STEPS, 4),
            "calls_per_step": round(event.count / PROFILED_STEPS, 2),
        }
        for event in ranked
    ]


# ---- labelling ----


def labelled(sizes: Sizes, precision: Arithmetic) -> dict[str, Any]:
    """Rows per second of a random teacher of BERT-base's shape, and the share that tokenising takes of it."""
    words = [f"w{number}" for number in range(20_000)]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    tokenizer = BertTokenizer(vocab={token: number for number, token in enumerate(tokens)})
    torch.manual_seed(SEED)
    model = BertForSequenceClassification(BertConfig(**sizes.teacher, num_labels=len(LABELS))).to(training_device())
    teacher = Encoder(model, tokenizer, max_length=128, arithmetic=precision)
    random = np.random.default_rng(SEED)
    lengths = row_lengths(sizes.teacher_rows, random)
    numbers = zipf_words(int(lengths.sum()), len(words), random)
    texts = [" ".join(words[word] for word in row) for row in np.split(numbers, np.cumsum(lengths)[:-1])]
    teacher.logits(texts[: len(texts) // 4], None)  # warms up
    forget_peak()
    started = time.perf_counter()
    teacher.logits(texts, None)
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    rows = teacher.tokenise(texts)
    tokenising = time.perf_counter() - started
    return {
        "precision": precision,
        "rows": len(texts),
        "tokens_a_row": round(float(np.mean([len(row["input_ids"]) for row in rows])), 1),
        "rows_per_second": round(len(texts) / seconds, 1),
        "seconds": round(seconds, 3),
        "seconds_of_tokenising": round(tokenising, 3),
        "peak_memory_mb": torch.cuda.max_memory_reserved() / 2**20 if torch.cuda.is_available() else 0.0,
    }


def show(found: dict[str, Any]) -> None:
    """The numbers on one screen."""
    for line in found["training"]:
        ours, plain = line["limbeck"], line["plain"]
        print(
            f"{line['precision']} batch {line['batch_size']:5}: {ours['rows_per_second']:10,.0f} rows/s "
            f"({ours['ms_per_step']:.2f} ms a step), plain {plain['rows_per_second']:10,.0f}, "
            f"ratio {line['limbeck_to_plain']:.2f}, peak {ours['peak_memory_mb']:,.0f} MB"
        )
    for found_profile in found["profiles"]:
        print(json.dumps(found_profile, indent=1))
    for line in found["labelling"]:
        print(json.dumps(line))


if __name__ == "__main__":
    main()
