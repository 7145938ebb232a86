"""Models of benchmarks/runtime.py: shapes that people would pick, with random weights, written once into a folder."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertTokenizerFast,
    DistilBertConfig,
    PreTrainedTokenizerFast,
)

from benchmarks.runtime_texts import Corpus
from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.export import export_student
from limbeck.export.teacher import export_teacher
from limbeck.models.size import parameter_count
from limbeck.models.students import word_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export, Precision
from limbeck.recipe.student import Bag, BiLstm, TextCnn, WordStudent
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.timing.bench import subjects_of
from limbeck.timing.protocol import Subject
from limbeck.training.modes import quiet_transformers

PIECES, WORDS, MAX_LENGTH = 30_522, 20_000, 128
LABELS = ["negative", "positive"]
TEACHER, TEACHER_ONNX, TEACHER_INT8 = "BERT-base", "BERT-base, fp32", "BERT-base, int8"
BILSTM = "Bi-LSTM 150"
SHAPES = {
    TEACHER: BertConfig,
    "DistilBERT-6": DistilBertConfig,
    "TinyBERT-4": lambda **more: BertConfig(
        num_hidden_layers=4, hidden_size=312, num_attention_heads=12, intermediate_size=1200, **more
    ),
}
STUDENTS: Mapping[str, tuple[WordStudent, tuple[Precision, ...]]] = {
    BILSTM: (BiLstm(hidden_size=150, embedding_size=300), ("fp32", "int8")),
    "TextCNN": (TextCnn(kind="textcnn", embedding_size=300), ("int8",)),
    "bag": (Bag(kind="bag", embedding_size=300), ("int8",)),
}
KEY, SILENT = Key(section={}, inputs={}), SilentReporter()
VECTORS_WIDTH = 256  # of model2vec's potion-base-8M


def subjects(folder: Path, corpus: Corpus) -> list[Subject]:
    """Everyone, the teacher first; each student on every engine that can run it here."""
    _start(folder, corpus)
    pieces = _made(folder / "pieces", lambda scratch: _pieces(corpus).save_pretrained(scratch))
    encoders = {name: _encoder(folder / "encoders" / _slug(name), name, pieces) for name in SHAPES}
    teacher = encoders[TEACHER]
    found = [Subject(TEACHER, kind="teacher", folder=teacher.folder, max_length=MAX_LENGTH, is_teacher=True)]
    wide = {TEACHER_ONNX: (teacher, "fp32"), TEACHER_INT8: (teacher, "int8")}
    small = {f"{name}, int8": (encoder, "int8") for name, encoder in encoders.items() if name != TEACHER}
    for name, (encoder, precision) in {**wide, **small}.items():
        exported = _exported_encoder(folder / "models" / _slug(name), encoder, precision)  # type: ignore[arg-type]
        found.append(Subject(name, kind="wide", folder=exported, engine="onnx", max_length=MAX_LENGTH))
    for name, (section, precisions) in STUDENTS.items():
        student = _student(folder / "students" / _slug(name), section, corpus)
        for precision in precisions:
            out = folder / "models" / _slug(f"{name}, {precision}")
            model = _exported_student(out, student, corpus, precision)
            on_engines = subjects_of([model], teacher=None, engine="all", reporter=SILENT)
            found += [replace(one, name=f"{name}, {precision}") for one in on_engines]
    return [*found, *_others(folder, corpus, pieces)]


def student_alone(folder: Path, corpus: Corpus, name: str, precision: Precision) -> Path:
    """One exported student, for who needs no other model."""
    _start(folder, corpus)
    student = _student(folder / "students" / _slug(name), STUDENTS[name][0], corpus)
    return _exported_student(folder / "models" / _slug(f"{name}, {precision}"), student, corpus, precision)


def _start(folder: Path, corpus: Corpus) -> None:
    """What was made of other texts is rebuilt."""
    card, facts = folder / "made-from.json", {"corpus": corpus.name, "texts": len(corpus.texts)}
    if not card.is_file() or json.loads(card.read_text(encoding="utf-8")) != facts:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        card.write_text(json.dumps(facts), encoding="utf-8")


def _made(folder: Path, make: Callable[[Path], object]) -> Path:
    """The folder as it is, or made whole."""
    if not folder.is_dir():
        scratch = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        make(scratch)
        scratch.rename(folder)
    return folder


def _pieces(corpus: Corpus) -> PreTrainedTokenizerFast:
    """BERT's way to cut words, learned from these texts; filled up to the size of BERT's own vocabulary."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        corpus.texts, WordPieceTrainer(vocab_size=PIECES, special_tokens=special, show_progress=False)
    )
    known = tokenizer.get_vocab()
    known |= {f"[unused{number}]": number for number in range(len(known), PIECES)}
    tokenizer.model = WordPiece(known, unk_token="[UNK]")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", known["[SEP]"]), ("[CLS]", known["[CLS]"]))
    return BertTokenizerFast(tokenizer_object=tokenizer, model_max_length=512)


def _encoder(folder: Path, name: str, pieces: Path) -> TeacherFolder:
    if not folder.is_dir():
        quiet_transformers()
        torch.manual_seed(0)
        config = SHAPES[name](vocab_size=PIECES, id2label=dict(enumerate(LABELS)))
        network = AutoModelForSequenceClassification.from_config(config)
        with written_atomically(folder, kind="teacher", key=KEY) as scratch:
            network.save_pretrained(scratch)
            for path in pieces.iterdir():
                shutil.copyfile(path, scratch / path.name)
            facts = TeacherFacts(
                name=name,
                labels=LABELS,
                dev_accuracy=None,
                max_length=MAX_LENGTH,
                precision="fp32",
                parameters=parameter_count(network),
                parameters_without_embeddings=0,
            )
            save_teacher_facts(scratch, facts)
    return TeacherFolder(folder)


def _exported_encoder(out: Path, encoder: TeacherFolder, precision: Precision) -> Path:
    if not out.is_dir():
        options: dict[str, Any] = {"language": "en", "pair": False, "key": KEY, "reporter": SILENT}
        assert export_teacher(encoder, precision=precision, out=out, **options) is not None
    return out


def _student(folder: Path, section: WordStudent, corpus: Corpus) -> StudentFolder:
    if not folder.is_dir():
        quiet_transformers()
        torch.manual_seed(0)
        tokenizer = build_word_tokenizer(corpus.texts, language="en", max_size=WORDS, min_count=1, lowercase=True)
        network = word_student(section, vocabulary_size=len(tokenizer), embedding_size=300, labels=LABELS, pair=False)
        with written_atomically(folder, kind="student", key=KEY) as scratch:
            network.save_pretrained(scratch)
            tokenizer.save(scratch / "tokenizer.json")
            facts = StudentFacts(
                name=section.kind, kind=section.kind, role="student", seed=0, labels=LABELS, language="en", pair=False,
                max_length=MAX_LENGTH, parameters=parameter_count(network), parameters_without_embeddings=0,
                best_epoch=1, dev_accuracy=0.5,
            )  # fmt: skip
            save_student_facts(scratch, facts, history=[])
    return StudentFolder(folder)


def _exported_student(out: Path, student: StudentFolder, corpus: Corpus, precision: Precision) -> Path:
    """Of random weights no label is said with confidence, so int8 need not say the same one."""
    if not out.is_dir():
        section = Export(int8_agreement=0.0, calibrate=False)
        rows = Rows.of(ids=[str(number) for number in range(64)], texts=corpus.texts[:64])
        export_student(section, student=student, rows=rows, precision=precision, out=out, key=KEY, reporter=SILENT)
    return out


def _others(folder: Path, corpus: Corpus, pieces: Path) -> list[Subject]:
    """What else is quick, as far as it is installed."""
    found = []
    if find_spec("model2vec"):
        static = _made(folder / "model2vec", lambda scratch: _static_model(scratch, pieces))
        found.append(Subject("model2vec and a linear layer", kind="model2vec", folder=static))
    if find_spec("fasttext"):
        fast = _made(folder / "fasttext", lambda scratch: _fasttext(scratch, corpus))
        found.append(Subject("fastText", kind="fasttext", folder=fast))
    return found


def _static_model(scratch: Path, pieces: Path) -> None:
    """A table of random vectors, of the width and about the size of a published one, with BERT's tokens."""
    draw = np.random.default_rng(0)
    np.save(scratch / "vectors.npy", draw.standard_normal((PIECES, VECTORS_WIDTH), dtype=np.float32))
    np.save(scratch / "head.npy", draw.standard_normal((VECTORS_WIDTH, len(LABELS)), dtype=np.float32))
    shutil.copyfile(pieces / "tokenizer.json", scratch / "tokenizer.json")


def _fasttext(scratch: Path, corpus: Corpus) -> None:
    """Words and pairs of words, 100 wide, as its tutorial trains it; fewer buckets than its default two million."""
    rows = scratch / "rows.txt"
    pairs = zip(corpus.labels, corpus.texts, strict=True)
    rows.write_text("".join(f"__label__{label} {text}\n" for label, text in pairs), encoding="utf-8")
    train = import_module("fasttext").train_supervised
    model = train(str(rows), dim=100, wordNgrams=2, bucket=200_000, epoch=2, thread=1, verbose=0)
    model.save_model(str(scratch / "model.bin"))
    rows.unlink()


def _slug(name: str) -> str:
    return name.lower().replace(",", "").replace(" ", "-")
