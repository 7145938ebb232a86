"""Training throughput of a logits-only distillation: Limbeck against the plain loop of TextBrewer, in one run.

    pip install --no-deps textbrewer       # not one of Limbeck's dependencies; it needs tensorboard and tqdm as well
    python benchmarks/textbrewer.py [--students bilstm tinybert-4] [--threads 2] [--texts FILE] [--teacher bert-base]
    python benchmarks/textbrewer.py --write-page

Four ways take turns on the same teacher, rows and first weights of the student, with the same AdamW, learning rates,
clipping, batch size and epochs; the first three in fp32:

    textbrewer    its GeneralDistiller over a shuffled DataLoader; the rows of a batch are padded to the longest of them
    in_the_loop   Limbeck's loop and batches of similar length, but the teacher is asked in every step
    limbeck       Limbeck's loop and batches; the teacher is asked once for every row
    as_it_comes   the same in the arithmetic of `precision = "auto"`, which is bf16 on a CPU that multiplies in it

Everything from texts to trained weights is measured: tokenising, asking the teacher, training, checkpoints. Before
that, with dropout off and the rows in one order, the first three must come to the same losses step by step. Made-up
rows are as long as the review sentences of the demo, and their words as frequent as Zipf has it. Numbers go to
benchmarks/results/textbrewer.json; --write-page puts the tables of all such files into docs/training.md.
"""

import argparse
import contextlib
import copy
import io
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from limbeck.distillation.objective import Objective
from limbeck.distillation.student_with_objective import StudentWithObjective
from limbeck.distillation.terms.term import Shapes
from limbeck.distillation.training_rows import Places, TrainingRows
from limbeck.models.checkpoint import OFFLINE_PACKAGES
from limbeck.models.students import word_student
from limbeck.models.transformer import transformer_student
from limbeck.progress import SilentReporter
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.student import AnyStudent, BiLstm, Transformer
from limbeck.recipe.textgcn import TextGcn
from limbeck.teacher.checkpoint import find_checkpoint
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.loading import load_encoder
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.framing import framed_teacher_tokenizer
from limbeck.text.student_tokenizer import PAD_ID, StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.timing.machine import machine_facts
from limbeck.training.batches import length_batches
from limbeck.training.device import Arithmetic, choose_arithmetic, training_device
from limbeck.training.loop import train
from limbeck.training.modes import evaluating
from limbeck.training.optimiser import learning_rate_at, optimiser_for
from limbeck.training.token_rows import TokenRows

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results", HERE.parent / "docs" / "training.md"
HEADINGS = ("student", "rows", "TextBrewer", "our loop", "Limbeck", "auto", "ratio", "batches", "labels", "auto ratio")
RATIOS = ("ratio", "by_batches_of_similar_length", "by_kept_labels", "ratio_as_it_comes")
START, END = "<!-- textbrewer -->", "<!-- /textbrewer -->"

MINILM = "all-MiniLM-L6-v2"
TEACHERS: dict[str, dict[str, int]] = {  # as BertConfig says it, whose own shape is that of bert-base
    MINILM: {"num_hidden_layers": 6, "hidden_size": 384, "intermediate_size": 1536},
    "bert-base": {},
}
SPREAD_OF_LOGITS = 2.0
STUDENTS: dict[str, AnyStudent] = {
    "bilstm": BiLstm(word_vectors="random"),
    "tinybert-4": Transformer(kind="transformer", layers=4, width=312, heads=12, inner_size=1200, start="random"),
}
ROWS = {"bilstm": 800, "tinybert-4": 400}  # a run then takes about eight minutes on two cores
LEARNING_RATES = {"bilstm": 2e-3, "tinybert-4": 1e-4}
LABELS, MAX_LENGTH, BATCH, SEED = ["negative", "positive"], 64, 32, 0
MEAN_WORDS, SPREAD_OF_WORDS, MOST_WORDS = 20.0, 9.0, 60  # the demo's sentences: 21.0, 9.4 and 59
WORDS = 8000
COMPARED_STEPS, ALLOWED_DIFFERENCE = 8, 1e-4

Losses = list[float]


@dataclass(frozen=True)
class Task:
    """What every way is given; none of it is part of the measured time."""

    texts: list[str]
    teacher: Encoder
    student: Any  # with its first weights; each way trains a copy
    tokenizer: StudentTokenizer | FramedTokenizer
    pad: int  # the student's padding
    settings: Distillation

    def student_ids(self) -> list[list[int]]:
        """Every text in the student's tokens."""
        return self.tokenizer.encode(self.texts, max_length=MAX_LENGTH)


Way = Callable[[Task, bool], Losses]  # (task, whether rows come in their own order) → the loss of every step


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--students", nargs="+", choices=list(STUDENTS), default=list(STUDENTS))
    options.add_argument("--teacher", choices=list(TEACHERS), default=MINILM)
    options.add_argument("--rows", type=int, help="default: 800 for the Bi-LSTM, 400 for TinyBERT-4")
    options.add_argument("--texts", type=Path, help="one text a line; default: made-up rows")
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--out", type=Path, default=RESULTS / "textbrewer.json")
    options.add_argument("--write-page", action="store_true", help="write the tables of kept results, measure nothing")
    asked = options.parse_args()
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    brewer()  # before anything takes time
    found = measure(asked)
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    show(found)


def brewer() -> Any:
    """The package, or a word on how to get it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # its import of TensorBoard finds TensorFlow where that is
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != HERE]  # this file has the package's name
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its strings and comparisons are those of older Pythons
            return import_module("textbrewer")
    except ImportError as error:
        todo = "  pip install --no-deps textbrewer\n  pip install tensorboard tqdm       if these are missing"
        raise SystemExit(f"this benchmark needs TextBrewer ({error})\n{todo}") from None


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Every student in turn."""
    torch.set_num_threads(asked.threads)
    teacher, weights = teacher_of(asked.teacher)
    load = os.getloadavg()[0]
    lines = []
    for name in asked.students:
        texts = texts_of(asked, rows=asked.rows or ROWS[name], teacher=teacher)
        spread_logits(teacher, texts[:256])
        same_work = refuse_different_work(name, texts, teacher)
        task = task_of(name, texts, teacher, epochs=asked.epochs)
        lines.append({**line_of(name, task, rounds=asked.rounds), "same_work": same_work})
    return {
        "what": "training throughput of a logits-only distillation, from texts to trained weights",
        "teacher": {"name": asked.teacher, "weights": weights},
        "texts": "a file" if asked.texts else "made up",
        "epochs": asked.epochs,
        "rounds": asked.rounds,
        "batch_size": BATCH,
        "students": lines,
        "textbrewer": version("textbrewer"),
        "load": [round(load, 2), round(os.getloadavg()[0], 2)],  # of the machine, before and after
        "machine": machine_facts(threads=asked.threads),
    }


def line_of(name: str, task: Task, *, rounds: int) -> dict[str, Any]:
    """The ways take turns; medians over the rounds."""
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    busy: dict[str, list[float]] = {way: [] for way in WAYS}
    read = len(task.texts) * task.settings.epochs
    for turn, (way, run) in product(range(rounds), WAYS.items()):
        started, started_busy = time.perf_counter(), time.process_time()
        run(task, False)
        seconds[way].append(time.perf_counter() - started)
        busy[way].append(time.process_time() - started_busy)
        print(f"{name}, round {turn + 1}, {way}: {seconds[way][-1]:.1f} s", file=sys.stderr, flush=True)
    return {
        "student": name,
        "rows": len(task.texts),
        "tokens_a_row": round(float(np.mean([len(row) for row in task.student_ids()])), 1),
        "seconds": {way: [round(one, 2) for one in each] for way, each in seconds.items()},
        "rows_per_second": {way: round(read / statistics.median(each), 1) for way, each in seconds.items()},
        **ratios(seconds),
        "of_cpu_seconds": ratios(busy),  # they suffer less from other work on the machine
    }


def ratios(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """How many times as fast as TextBrewer, as the product of what the two ideas bring."""
    textbrewer, in_the_loop, limbeck, as_it_comes = (statistics.median(seconds[way]) for way in WAYS)
    return {
        "ratio_as_it_comes": round(textbrewer / as_it_comes, 2),
        "ratio": round(textbrewer / limbeck, 2),
        "by_batches_of_similar_length": round(textbrewer / in_the_loop, 2),
        "by_kept_labels": round(in_the_loop / limbeck, 2),
    }


def teacher_of(name: str) -> tuple[Encoder, str]:
    """The encoder of the offline package where it is asked for and installed, else a random one of the same shape."""
    torch.manual_seed(SEED)
    packaged: Encoder | None = None
    if find_spec(OFFLINE_PACKAGES[MINILM].module):
        packaged = load_encoder(find_checkpoint(MINILM), max_length=MAX_LENGTH, arithmetic="fp32", labels=LABELS)
    if packaged and name == MINILM:
        teacher, weights = packaged, "of the offline package"
    else:
        tokenizer = packaged.tokenizer if packaged else made_up_tokenizer()
        config = BertConfig(**TEACHERS[name], num_labels=len(LABELS))
        model = BertForSequenceClassification(config)
        teacher, weights = Encoder(model, tokenizer, max_length=MAX_LENGTH, arithmetic="fp32"), "random"
    teacher.model.to(training_device())
    return teacher, weights


def spread_logits(teacher: Encoder, texts: list[str]) -> None:
    """Let logits lie as far apart as those of a trained teacher: a fresh head says nearly the same of all texts."""
    said = torch.from_numpy(teacher.logits(texts, None)).to(training_device())
    head, scale = teacher.model.classifier, SPREAD_OF_LOGITS / said.std(dim=0)
    with torch.no_grad():
        head.weight.mul_(scale[:, None])
        head.bias.copy_((head.bias - said.mean(dim=0)) * scale)


def made_up_tokenizer() -> Any:
    """One that knows words spelled out of syllables."""
    syllables = ["".join(letters) for letters in product("bdfgklmnprst", "aeiou")]
    words = islice(("".join(parts) for parts in product(syllables, repeat=3)), WORDS)
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    return BertTokenizer(vocab={token: number for number, token in enumerate(tokens)})


def texts_of(asked: argparse.Namespace, *, rows: int, teacher: Encoder) -> list[str]:
    """The lines of the file, or rows of words that are whole pieces of the teacher's."""
    if asked.texts:
        lines = asked.texts.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.strip()][:rows]
    ids = teacher.tokenizer.get_vocab()
    words = [word for word in sorted(ids, key=ids.__getitem__) if word.isascii() and word.isalpha() and len(word) > 2]
    random = np.random.default_rng(SEED)
    shape = (MEAN_WORDS / SPREAD_OF_WORDS) ** 2
    lengths = random.gamma(shape, MEAN_WORDS / shape, rows).round().clip(1, MOST_WORDS).astype(int)
    chances = 1 / np.arange(1, len(words[:WORDS]) + 1)
    return [" ".join(random.choice(words[:WORDS], size=size, p=chances / chances.sum())) for size in lengths]


def task_of(name: str, texts: list[str], teacher: Encoder, *, epochs: int, dropout: float | None = None) -> Task:
    """With a fresh student, whose first weights are the same every time."""
    section = STUDENTS[name]
    if dropout is not None:
        section = section.model_copy(update={"dropout": dropout})
    settings = Distillation(epochs=epochs, batch_size=BATCH, learning_rate=LEARNING_RATES[name])
    torch.manual_seed(SEED)
    if isinstance(section, Transformer):
        pad, theirs = teacher.tokenizer.pad_token_id, teacher.tokenizer.backend_tokenizer.to_str()
        framed = framed_teacher_tokenizer(theirs, pad_id=pad, mask_token="[MASK]", has_types=False)
        size = {"vocabulary_size": teacher.model.config.vocab_size, "pad_token_id": pad}
        student = transformer_student(section, teacher=teacher.model, vocabulary=None, labels=LABELS, **size)
        return Task(texts, teacher, student.to(training_device()), framed, pad, settings)
    words = build_word_tokenizer(texts, language="en", max_size=30_000, min_count=2, lowercase=True)
    assert not isinstance(section, TextGcn), "it is none of the compared students"
    width = section.embedding_size
    assert width is not None, "only n-grams leave it open"
    student = word_student(section, vocabulary_size=len(words), embedding_size=width, labels=LABELS, pair=False)
    return Task(texts, teacher, student.to(training_device()), words, PAD_ID, settings)


def refuse_different_work(name: str, texts: list[str], teacher: Encoder) -> dict[str, float]:
    """How far the losses of the ways lie apart, without dropout and with the rows in one order. Warms up, too."""
    task = task_of(name, texts[: COMPARED_STEPS * BATCH], teacher, epochs=1, dropout=0.0)
    losses = np.array([run(task, True) for run in SAME_WORK.values()])  # (ways, steps)
    difference = float(np.abs(losses - losses[0]).max())
    assert difference < ALLOWED_DIFFERENCE, f"{name}: the ways differ by {difference} in a loss: {losses}"
    return {"steps": losses.shape[1], "first_loss": float(losses[0, 0]), "largest_difference": difference}


def limbeck(task: Task, in_order: bool, *, keeps_labels: bool = True, arithmetic: Arithmetic = "fp32") -> Losses:
    """The teacher is asked for all rows, in batches of similar length; or, where nothing is kept, in every step."""
    device, rows = training_device(), [] if keeps_labels else task.teacher.tokenise(task.texts)
    empty = torch.zeros((len(task.texts), len(LABELS)))
    said = (torch.from_numpy(task.teacher.logits(task.texts, None)) if keeps_labels else empty).to(device)
    tokens = TokenRows.of([task.student_ids()], device=device)
    no_labels = torch.full((len(task.texts),), -1, device=device)
    training_rows = TrainingRows(columns={"input_ids": tokens}, pad=task.pad, labels=no_labels, teacher_logits=said)
    student = StudentWithObjective(copy.deepcopy(task.student), Objective(task.settings.losses, Shapes()), teacher=None)
    found: list[Tensor] = []

    def losses(model: nn.Module, places: Places, done: float) -> dict[str, Tensor]:
        if not keeps_labels:
            with evaluating(task.teacher.model):
                said[places] = task.teacher.model(**task.teacher.batch([rows[place] for place in places])).logits
        terms: dict[str, Tensor] = model(training_rows, places, done)
        found.extend(term.detach() for term in terms.values())  # there is but one term
        return terms

    def batches(epoch: int) -> list[Places]:
        if in_order:
            return np.array_split(np.arange(len(task.texts)), range(BATCH, len(task.texts), BATCH))
        return length_batches(tokens.lengths, batch_size=BATCH, seed=SEED, epoch=epoch)

    with tempfile.TemporaryDirectory() as work:
        train(
            student,
            task.settings,
            arithmetic=arithmetic,
            batches=batches,
            losses=losses,
            validate=lambda _: {"dev_accuracy": 0.0, "dev_loss": 0.0},  # TextBrewer judges nothing either
            work_folder=Path(work),
            reporter=SilentReporter(),
            what="training",
            keep="last",
        )
    return torch.stack(found).tolist()


def as_it_comes(task: Task, in_order: bool) -> Losses:
    """In the arithmetic of `precision = "auto"`: for the teacher that is the default, for transformers the methods
    of the package have it. A Bi-LSTM stays in fp32. TextBrewer has nothing like it for a CPU."""
    auto = choose_arithmetic("auto")
    own = replace(task, teacher=replace(task.teacher, arithmetic=auto))
    return limbeck(own, in_order, arithmetic="fp32" if isinstance(task.tokenizer, StudentTokenizer) else auto)


def textbrewer(task: Task, in_order: bool) -> Losses:
    """GeneralDistiller as its README uses it, with logits alone."""
    package, settings, student = brewer(), task.settings, copy.deepcopy(task.student)
    loader = loader_of(task, in_order=in_order)
    steps = settings.epochs * len(loader)
    losses: Losses = []

    def share_of_rate(step: int) -> float:
        return learning_rate_at(step, total=steps, peak=1.0, warmup_fraction=settings.warmup_fraction)

    def logits_alone(_batch: Any, output: Any) -> dict[str, Tensor]:
        return {"logits": output.logits}

    def add_scalar(name: str, value: float, _step: int) -> None:
        if name == "scalar/total_loss":
            losses.append(value)

    with tempfile.TemporaryDirectory() as work:
        distiller = package.GeneralDistiller(
            train_config=package.TrainingConfig(output_dir=work, device=training_device()),
            distill_config=package.DistillationConfig(temperature=1, kd_loss_type="mse", hard_label_weight=0),
            model_T=task.teacher.model,
            model_S=student,
            adaptor_T=logits_alone,
            adaptor_S=logits_alone,
        )
        distiller.tb_writer = SimpleNamespace(add_scalar=add_scalar)  # it reads the loss of every step in any case
        with distiller, contextlib.redirect_stderr(io.StringIO()):  # no bars, which would cost it time
            distiller.train(
                optimiser_for(student, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay),
                loader,
                num_epochs=settings.epochs,
                scheduler_class=LambdaLR,
                scheduler_args={"lr_lambda": share_of_rate},
                max_grad_norm=settings.clip_norm,
            )
    return losses


def loader_of(task: Task, *, in_order: bool) -> DataLoader[Any]:
    """Batches padded to their longest row; a student with tokens of its own gets them beside the teacher's."""
    columns = [[torch.tensor(row["input_ids"]) for row in task.teacher.tokenise(task.texts)]]
    if isinstance(task.tokenizer, StudentTokenizer):
        columns.append([torch.tensor(row) for row in task.student_ids()])
    pads = (task.teacher.tokenizer.pad_token_id, task.pad)

    def collate(rows: list[tuple[Tensor, ...]]) -> dict[str, Any]:
        read, *other = (padded(column, pad=pad) for column, pad in zip(zip(*rows, strict=True), pads, strict=False))
        return {"teacher": read, "student": other[0]} if other else read

    order = torch.Generator().manual_seed(SEED)
    rows: Any = list(zip(*columns, strict=True))
    return DataLoader(rows, batch_size=BATCH, shuffle=not in_order, generator=order, collate_fn=collate)


def padded(rows: Sequence[Tensor], *, pad: int) -> dict[str, Tensor]:
    """(rows, tokens) ids and mask."""
    ids = pad_sequence(list(rows), batch_first=True, padding_value=pad)
    lengths = torch.tensor([len(row) for row in rows])
    return {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long()}


IN_THE_LOOP = partial(limbeck, keeps_labels=False)
SAME_WORK: dict[str, Way] = {"textbrewer": textbrewer, "in_the_loop": IN_THE_LOOP, "limbeck": limbeck}
WAYS: dict[str, Way] = {**SAME_WORK, "as_it_comes": as_it_comes}


def show(found: Mapping[str, Any]) -> None:
    """The table on the terminal."""
    title = f"rows/s, teacher {found['teacher']['name']}, threads: {found['machine']['threads']}"
    table = Table(title=title, box=SIMPLE, collapse_padding=True, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "student" else "right")
    for line in found["students"]:
        table.add_row(*cells(line))
    Console().print(table)


def cells(line: Mapping[str, Any]) -> list[str]:
    """One line of either table."""
    rates = [f"{line['rows_per_second'][way]:,.0f}" for way in WAYS]
    parts = [f"{line[name]:.1f}×" for name in RATIOS]
    return [line["student"], f"{line['rows']:,}", *rates, *parts]


def page(text: str) -> str:
    """The page with the tables of all results between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    paths = sorted(RESULTS.glob("textbrewer*.json"))
    tables = [table_of(json.loads(path.read_text(encoding="utf-8"))) for path in paths]
    return f"{before}{START}\n\n" + "\n\n".join(tables) + f"\n\n{END}{after}"


def table_of(found: Mapping[str, Any]) -> str:
    """One file of results as Markdown."""
    machine, teacher = found["machine"], found["teacher"]
    rows = "made-up rows" if found["texts"] == "made up" else "rows of a file"
    tokens = statistics.mean(line["tokens_a_row"] for line in found["students"])
    lines = [
        f"Teacher {teacher['name']} (weights {teacher['weights']}), {rows} of {tokens:.0f} tokens, "
        f"{found['epochs']} epochs, batches of {found['batch_size']}, medians of {found['rounds']} rounds; "
        f"{machine.get('gpu', '')}{', ' if 'gpu' in machine else ''}{machine['cpu']}, threads: {machine['threads']}, "
        "load of the machine {:.1f} before, {:.1f} after.".format(*found["load"]),
        "",
        f"| {' | '.join(HEADINGS)} |",
        f"|---|{'---:|' * (len(HEADINGS) - 1)}",
    ]
    lines += [f"| {' | '.join(cells(line))} |" for line in found["students"]]
    busy = ", ".join(
        f"{line['student']} {line['of_cpu_seconds']['ratio']:.1f}× ({line['of_cpu_seconds']['ratio_as_it_comes']:.1f}×)"
        for line in found["students"]
    )
    return "\n".join([*lines, "", f"Ratios of CPU time, which other work on the machine changes less: {busy}."])


if __name__ == "__main__":
    main()
