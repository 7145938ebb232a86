"""Artifacts that the rooms of learning read, made of toy rows."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import GRAPH, TOKENIZER, ModelFacts, ModelFolder, save_facts
from limbeck.corpus import read_corpus
from limbeck.progress import Bar
from limbeck.recipe.corpus import CorpusSection

KEY = Key(section={}, inputs={})
WORDS = ["[PAD]", "[UNK]", "[MASK]", "gorgeous", "dreadful", "film", "story"]
MakeModel = Callable[..., ModelFolder]
Row = tuple[str, str]  # text, label

LAYERS = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48}
FROM_PADDING = {"pad_token_id": 1, "max_position_embeddings": 50}  # two of them before that of the first token
ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertConfig", {}),
    "distilbert": ("DistilBertConfig", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}),
    "roberta": ("RobertaConfig", {**FROM_PADDING, "type_vocab_size": 1}),
    "xlm-roberta": ("XLMRobertaConfig", {**FROM_PADDING, "type_vocab_size": 1}),
    "electra": ("ElectraConfig", {"embedding_size": 32}),
    "electra-projected": ("ElectraConfig", {"embedding_size": 24}),
    "mpnet": ("MPNetConfig", FROM_PADDING),
    "albert": ("AlbertConfig", {"embedding_size": 24}),
    "albert-of-two-groups": ("AlbertConfig", {"embedding_size": 24, "num_hidden_layers": 4, "num_hidden_groups": 2}),
    "deberta-v2": (
        "DebertaV2Config",
        {
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "position_biased_input": False,
            "position_buckets": 8,
            "share_att_key": True,
            "norm_rel_ebd": "layer_norm",
            "type_vocab_size": 0,
        },
    ),
    "deberta-v2-without-buckets": (
        "DebertaV2Config",
        {"relative_attention": True, "pos_att_type": ["p2c"], "embedding_size": 24, "type_vocab_size": 2},
    ),
    "xlnet": ("XLNetConfig", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48, "pad_token_id": 5}),
    "mpnet-own-vocabulary": ("MPNetConfig", {**FROM_PADDING, "pad_token_id": 0}),
}


@pytest.fixture(scope="session")
def make_corpus() -> Callable[..., Any]:
    """make_corpus(folder, train=…, dev=…, pairs=False, language="en"): a Corpus of (text, label) rows.

    With pairs, a row's second text is the text of the next row.
    """
    return _corpus


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory: pytest.TempPathFactory, toy_rows: tuple[Row, ...]) -> Any:
    """The toy rows as a corpus: 150 to train on, 50 to judge by. Shared: read it, don't write to it."""
    return _corpus(tmp_path_factory.mktemp("toy") / "corpus", train=toy_rows[:150], dev=toy_rows[150:])


@pytest.fixture(scope="session")
def make_teacher(tiny_teacher_folder: Path) -> Callable[..., Any]:
    """make_teacher(folder, parameters=…): the tiny teacher, untrained, as a TeacherFolder that claims so many."""

    def make(folder: Path, *, parameters: int) -> Any:
        from limbeck.artifacts.atomic_folder import written_atomically
        from limbeck.artifacts.manifest import Key
        from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts

        facts = TeacherFacts(
            name="tiny",
            labels=["negative", "positive"],
            max_length=32,
            precision="fp32",
            dev_accuracy=0.5,
            parameters=parameters,
            parameters_without_embeddings=parameters // 2,
        )
        with written_atomically(folder, kind="teacher", key=Key(section={}, inputs={})) as scratch:
            shutil.copytree(tiny_teacher_folder, scratch, dirs_exist_ok=True)
            save_teacher_facts(scratch, facts)
        return TeacherFolder(folder)

    return make


@pytest.fixture(scope="session")
def make_encoder() -> Callable[..., Any]:
    """make_encoder(family, **config): a classifier of 130 tokens, 48 positions and three classes, in eval mode.

    No weight of it is near what it starts from, so that one that is forgotten or mistaken for another is missed. No
    class is said of all rows.
    """
    return _encoder


@pytest.fixture(scope="session")
def make_framed_student(tiny_teacher_folder: Path) -> Callable[..., Any]:
    """make_framed_student(folder, family="bert", pair=False, multi_label=False): a tiny transformer as a StudentFolder.

    It reads the tokens of the tiny teacher.
    """

    def make(folder: Path, **options: Any) -> Any:
        return framed_student(folder, teacher=tiny_teacher_folder, **options)

    return make


def framed_student(
    folder: Path, *, teacher: Path, family: str = "bert", pair: bool = False, multi_label: bool = False
) -> Any:
    """As make_framed_student makes it, also for whoever has no fixtures."""
    from limbeck.artifacts.atomic_folder import written_atomically
    from limbeck.artifacts.manifest import Key
    from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
    from limbeck.text.framing import framed_teacher_tokenizer
    from limbeck.training.modes import quiet_transformers

    tokenizer = framed_teacher_tokenizer(
        (teacher / "tokenizer.json").read_text(encoding="utf-8"),
        pad_id=0,
        mask_token="[MASK]",
        has_types=family in ("bert", "electra"),
    )
    network = _encoder(family, pad_token_id=0)
    facts = StudentFacts(
        name="transformer", kind="transformer", role="student", seed=0, labels=["negative", "neutral", "positive"],
        language="en", pair=pair, max_length=40, parameters=1_000, parameters_without_embeddings=500, best_epoch=1,
        dev_accuracy=0.5, multi_label=multi_label, tokenizer="framed",
    )  # fmt: skip
    quiet_transformers()
    with written_atomically(folder, kind="student", key=Key(section={}, inputs={})) as scratch:
        network.save_pretrained(scratch)
        tokenizer.save(scratch / "tokenizer.json")
        save_student_facts(scratch, facts, history=[])
    return StudentFolder(folder)


def _encoder(family: str, **config: Any) -> Any:
    import torch
    import transformers

    name, own = ENCODERS[family]
    sizes: dict[str, Any] = {"vocab_size": 130}
    if family != "xlnet":  # which has no limit of positions
        sizes |= {"max_position_embeddings": 48} | ({} if family == "distilbert" else LAYERS)
    torch.manual_seed(1)
    model = transformers.AutoModelForSequenceClassification.from_config(
        getattr(transformers, name)(**{**sizes, **own, "num_labels": 3, **config})
    )
    with torch.no_grad():
        for parameter in model.parameters():
            spread = torch.randn_like(parameter) * 0.25
            parameter.copy_(spread if parameter.dim() > 1 else parameter + spread)
        ids = torch.randint(5, 125, (200, 16))
        ids[:, 0] = 2  # the tiny teacher's [CLS]
        classes = model.logits_proj if family == "xlnet" else getattr(model.classifier, "out_proj", model.classifier)
        classes.bias -= model.eval()(ids).logits.mean(dim=0)
    return model


def _corpus(
    folder: Path, *, train: Sequence[Row], dev: Sequence[Row], pairs: bool = False, language: str = "en"
) -> Any:
    from limbeck.artifacts.atomic_folder import written_atomically
    from limbeck.artifacts.corpus import Corpus, save_corpus
    from limbeck.artifacts.manifest import Key

    names = sorted({label for _, label in train})
    splits = {split: _rows(split, rows, names, pairs=pairs) for split, rows in (("train", train), ("dev", dev))}
    facts = {"name": "toy", "labels": names, "language": language, "pair": pairs}
    with written_atomically(folder, kind="corpus", key=Key(section={}, inputs={})) as scratch:
        save_corpus(scratch, splits=splits, facts=facts)
    return Corpus(folder)


def _rows(split: str, rows: Sequence[Row], names: Sequence[str], *, pairs: bool) -> Any:
    from limbeck.artifacts.rows import Rows

    texts = [text for text, _ in rows]
    return Rows.of(
        ids=[f"{split}-{number}" for number in range(len(rows))],
        texts=texts,
        pairs=[*texts[1:], texts[0]] if pairs else None,
        labels=[names.index(label) for _, label in rows],
    )


@dataclass
class Rehearsal:
    """A captured step where there is no GPU: it calls the step again, and leaves its terms where they were before."""

    step: Callable[[], dict[str, Any]]
    terms: dict[str, Any] = field(default_factory=dict)
    replayed: int = 0

    def replay(self) -> None:
        """Take the step."""
        self.replayed += 1
        for name, term in self.step().items():
            self.terms.setdefault(name, term.clone()).copy_(term)


class RehearsedContext:
    """Captures without a GPU."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.captured: list[Rehearsal] = []

    @contextmanager
    def active(self) -> Iterator[None]:
        """As that of a GPU."""
        yield

    def capture(self, step: Callable[[], dict[str, Any]]) -> Rehearsal:
        """As that of a GPU: the step is not taken."""
        if self.problem:
            raise RuntimeError(self.problem)
        self.captured.append(Rehearsal(step))
        return self.captured[-1]


@pytest.fixture
def make_capture_context() -> Callable[..., RehearsedContext]:
    """Where steps are captured without a GPU; with a problem, none can be."""
    return RehearsedContext


@pytest.fixture
def copies_to_meta() -> Any:
    """`with copies_to_meta:` notes in `copies` every copy from the CPU to the meta device, which plays the GPU here: no
    CUDA graph can hold such a copy."""
    import torch
    from torch.overrides import TorchFunctionMode

    class CopiesToMeta(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.copies: list[str] = []

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            found = function(*args, **(kwargs or {}))
            given = [one for one in (*args, *(kwargs or {}).values()) if isinstance(one, torch.Tensor)]
            from_here = function in (torch.tensor, torch.as_tensor) or any(one.device.type == "cpu" for one in given)
            if isinstance(found, torch.Tensor) and found.device.type == "meta" and from_here:
                self.copies.append(function.__name__)
            return found

    return CopiesToMeta()


class RememberingReporter:
    """Keeps every note and the bars' totals."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.done = 0
        self.total = 0

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.notes.append(text)

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        self.notes.append(f"{'✓' if is_reused else '▸'} {name}  {text}")

    @contextmanager
    def bar(self, what: str, *, total: int, unit: str) -> Iterator[Bar]:
        del what, unit
        self.total += total
        yield self

    def advance(self, amount: int = 1, *, note: str = "") -> None:
        del note
        self.done += amount


ReadCorpus = Callable[..., Corpus]


@pytest.fixture
def reporter() -> RememberingReporter:
    return RememberingReporter()


@pytest.fixture
def key() -> Key:
    return Key(section={}, inputs={})


@pytest.fixture
def read_rows(tmp_path: Path, key: Key, reporter: RememberingReporter) -> ReadCorpus:
    """read_rows(train=[("text", "label")…], dev=[…], test=[…], **section): the corpus of these rows, through files."""

    def make(
        *,
        train: list[tuple[str, ...]],
        dev: list[tuple[str, ...]] | None = None,
        test: list[tuple[str, ...]] | None = None,
        **section: Any,
    ) -> Corpus:
        given = {"train": train, "dev": dev, "test": test}
        files = {split: rows for split, rows in given.items() if rows is not None}
        for split, rows in files.items():
            header = "text\tlabel" if len(rows[0]) == 2 else "text\tpair\tlabel"
            lines = [header, *("\t".join(row) for row in rows)]
            (tmp_path / f"{split}.tsv").write_text("\n".join(lines), encoding="utf-8")
        paths = {split: str(tmp_path / f"{split}.tsv") for split in files}
        pair = "pair" if len(train[0]) == 3 else None
        options = CorpusSection.model_validate({**paths, "pair": pair, **section})
        return read_corpus(options, out=tmp_path / "corpus", key=key, reporter=reporter, name="toy")

    return make


@pytest.fixture
def make_model(tmp_path: Path) -> MakeModel:
    """Makes exported models in which "gorgeous" speaks for positive by `weight`, and "dreadful" for negative."""

    def make(name: str, *, weight: float = 1.0, multi_label: bool = False, temperature: float = 1.0) -> ModelFolder:
        table = np.zeros((len(WORDS), 2), dtype=np.float32)
        table[WORDS.index("gorgeous")] = [-weight, weight]
        table[WORDS.index("dreadful")] = [weight, -weight]
        folder = tmp_path / "models" / name
        with written_atomically(folder, kind="model", key=KEY) as scratch:
            _save_graph(scratch / GRAPH, table)
            _save_tokenizer(scratch / TOKENIZER)
            facts = ModelFacts(
                name=name,
                kind="bilstm",
                precision="fp32",
                labels=["negative", "positive"],
                language="en",
                pair=False,
                max_length=16,
                parameters=14,
                parameters_without_embeddings=0,
                multi_label=multi_label,
                temperature=temperature,
            )
            save_facts(scratch, facts)
        return ModelFolder(folder)

    return make


def _save_graph(path: Path, table: npt.NDArray[np.float32]) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
            helper.make_node("ReduceSum", ["rows", "axes"], ["logits"], keepdims=0),
        ],
        "bilstm",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["rows", "tokens"]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["rows"]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", "classes"])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1]), "axes")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(path))


def _save_tokenizer(path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(path))
