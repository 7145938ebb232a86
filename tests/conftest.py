"""What every test may count on: no network, fixed seeds, toy rows of our own making, and a tiny teacher."""

import csv
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Before any library of Hugging Face is imported, which reads these once.
os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_DATASETS_OFFLINE="1",
    TRANSFORMERS_OFFLINE="1",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    TRANSFORMERS_VERBOSITY="error",
    TOKENIZERS_PARALLELISM="false",
    LIMBECK_ALLOW_CUSTOM_CODE="all",  # the recipes of the tests are our own; tests/hostile takes it away
    OMP_NUM_THREADS="1",  # torch's threads wait busily for each other: 20 times slower on a busy machine
)

# Behind a shell's "&" Ctrl-C is ignored, and processes inherit that: tests would wait for ever for one to end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LOOPBACK = ("127.", "::1", "localhost")
DECIDING = {"gorgeous": "positive", "dreadful": "negative"}
NEUTRAL_TEXT = """
the a this that film story scene actor camera evening music script city garden letter road is was has with and of
in under over about slowly again today quite long short quiet old new first last second blue green
"""
NEUTRAL = NEUTRAL_TEXT.split()
LONG_FILES = {
    "test_at_once.py",
    "test_kill.py",
    "test_methods.py",
    "test_nodes.py",
    "test_side_by_side.py",
    "test_teachers.py",
    "test_torchrun.py",
    "test_toy_run.py",
}
ENABLED_BY = {
    "browser": "install Chromium, e.g. apt-get install chromium (make browser tries that)",
    "gpu": "run them on a machine with an NVIDIA GPU that PyTorch can use",
    "node": "install Node.js 20 (apt-get install nodejs npm), then: make node",
    "s3": "make s3",
    "trial": "set LIMBECK_DATA to a folder with the public data sets that docs/data.md lists",
}


def what_to_enable(reports: Iterable[Any]) -> list[str]:
    """One line for each group of skipped tests that a person can enable: how many they are, and how."""
    counts = Counter(marker for report in reports for marker in ENABLED_BY if marker in getattr(report, "keywords", ()))
    return [
        f"{counts[marker]} {marker} test{'s were' if counts[marker] > 1 else ' was'} SKIPPED: {how}"
        for marker, how in ENABLED_BY.items()
        if counts[marker]
    ]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first: one that begins last would keep one core busy and the other waiting."""
    items.sort(key=lambda item: item.path.name not in LONG_FILES)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Below everything else: what was not tested, and how to have it tested."""
    yield
    if lines := what_to_enable(terminalreporter.stats.get("skipped", [])):
        terminalreporter.section("NOT TESTED HERE", sep="!", yellow=True, bold=True)
        for line in lines:
            terminalreporter.write_line(line, yellow=True, bold=True)


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Only this machine can be reached; anything else fails at once instead of being slow or flaky."""
    connect, connect_ex, look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def refuse_strangers(host: object) -> None:
        name = host.decode() if isinstance(host, bytes) else host
        if isinstance(name, str) and name and not name.startswith(LOOPBACK):
            raise RuntimeError(f"a test reached out to {name}; tests run without a network")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            refuse_strangers(address[0])
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        if self.family != socket.AF_UNIX:
            refuse_strangers(address[0])
        return connect_ex(self, address)

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_strangers(host)
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    """The same random numbers in every test, whatever ran before it."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(scope="session")
def toy_rows() -> tuple[tuple[str, str], ...]:
    """200 different (text, label): 3 to 24 neutral words, and one word among them that decides the label."""
    return drawn_toy_rows()


def drawn_toy_rows() -> tuple[tuple[str, str], ...]:
    """The toy rows, also for whoever has no fixtures."""
    dice = random.Random(7)
    rows: dict[str, str] = {}
    while len(rows) < 200:
        word, label = list(DECIDING.items())[len(rows) % 2]
        words = dice.choices(NEUTRAL, k=dice.randint(3, 24))
        words.insert(dice.randint(0, len(words)), word)
        rows[" ".join(words)] = label
    return tuple(rows.items())


@pytest.fixture(scope="session")
def odd_texts() -> dict[str, str]:
    """Texts that nobody writes and somebody sends, by what is odd about them; no tab and no line end is in them."""
    million = 1_000_000
    return {
        "empty": "",
        "spaces": "   ",
        "wide spaces": "\u3000\u00a0\u2003",
        "nul": "\x00",
        "nul inside": "film\x00scene",
        "control characters": "".join(map(chr, [*range(1, 9), *range(14, 32), *range(127, 160)])),
        "line separators": "film\u2028scene\u2029road\x0b\x0c\x85\x1c",
        "byte order mark inside": "film \ufeffscene",
        "right to left": "\u202efilm\u202c שלום \u200fعربي",
        "one emoji": "🙂",
        "joined emoji": "👨‍👩‍👧‍👦👩🏽‍🚀🏳️‍🌈",
        "combining marks": "e\u0301\u0316\u0327 film",
        "not a character": "\ufffe\uffff\U0010ffff",
        "a zalgo megabyte": "z" + "\u0301\u0316\u0327" * (million // 3),
        "a megabyte without a space": "x" * million,
        "a megabyte of words": "film " * (million // 5),
        "a megabyte of spaces": " " * million,
        "a megabyte of Chinese": "电影" * (million // 2),
        "a megabyte of one emoji": "🙂" * million,
        "a megabyte of full stops": "." * million,
        "a megabyte of digits": "1" * million,
        "a megabyte that grows when normalised": "\ufdfa" * million,
        "special tokens": "[PAD][UNK] [MASK] [CLS] [SEP] <s> </s>",
        "quotes and backslashes": "\"'`\\n\\u0000",
    }


@pytest.fixture(scope="session")
def half_texts() -> dict[str, str]:
    """Texts with half a character in them, which UTF-8 cannot hold and JSON can, by how they come about."""
    return {
        "first half": "film \ud83d",
        "second half": "\udfac film",
        "wrong order": "\udfac\ud83c",
        "two halves": "\ud83c\udfac",
        "a byte that was no text": "caf\udce9",
        "a megabyte of halves": "\ud800" * 1_000_000,
    }


@pytest.fixture
def toy_csv(tmp_path: Path, toy_rows: tuple[tuple[str, str], ...]) -> Path:
    """The toy rows as a file with the columns text and label."""
    path = tmp_path / "toy.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *toy_rows])
    return path


@pytest.fixture(scope="session")
def tiny_teacher_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer BERT with random weights and the toy words as its vocabulary. Shared: read it, don't write to it."""
    return written_tiny_teacher(tmp_path_factory.mktemp("tiny-teacher"))


def written_tiny_teacher(folder: Path) -> Path:
    """The tiny teacher in a folder, also for whoever has no fixtures."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    tokenizer = _toy_tokenizer()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
        id2label={0: "negative", 1: "positive"},
        label2id={"negative": 0, "positive": 1},
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def tiny_teacher_copy(tiny_teacher_folder: Path, tmp_path: Path) -> Path:
    """The tiny teacher as the test's own, to change or to damage."""
    return Path(shutil.copytree(tiny_teacher_folder, tmp_path / "tiny-teacher"))


@pytest.fixture(scope="session")
def make_student() -> Callable[..., Any]:
    """make_student(folder, pooling="max", pair=False, multi_label=False): a small Bi-LSTM that knows the toy words.

    It comes as a StudentFolder. Its weights are random but large, so that its logits are far apart: int8 rounding
    decides no label by luck.
    """
    return written_student


def written_student(folder: Path, *, pooling: str = "max", pair: bool = False, multi_label: bool = False) -> Any:
    """As make_student makes it, also for whoever has no fixtures."""
    import torch

    from limbeck.artifacts.atomic_folder import written_atomically
    from limbeck.artifacts.manifest import Key
    from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
    from limbeck.models.bilstm import bilstm
    from limbeck.recipe.student import BiLstm
    from limbeck.text.word_tokenizer import build_word_tokenizer
    from limbeck.training.modes import quiet_transformers

    words = [*DECIDING, *NEUTRAL]
    labels = ["negative", "neutral", "positive"]
    tokenizer = build_word_tokenizer(words, language="en", max_size=200, min_count=1, lowercase=True)
    section = BiLstm.model_validate({"hidden_size": 8, "dense_size": 16, "embedding_size": 12, "pooling": pooling})
    torch.manual_seed(0)
    network = bilstm(
        section,
        vocabulary_size=len(tokenizer),
        embedding_size=12,
        labels=labels,
        pair=pair,
        problem_type="multi_label_classification" if multi_label else None,
    )
    assert network.dense is not None
    with torch.no_grad():
        for parameter in (*network.dense.parameters(), *network.classifier.parameters()):
            parameter.mul_(6)
        network.embeddings.weight.mul_(10)
        if multi_label:
            network.classifier.bias.add_(2)  # so that some rows have no label, some one and some several
    sizes: dict[str, Any] = {"max_length": 32, "parameters": 1_000, "parameters_without_embeddings": 500}
    facts = StudentFacts(
        name="bilstm", kind="bilstm", role="student", seed=0, labels=labels, language="en", pair=pair,
        best_epoch=1, dev_accuracy=0.5, multi_label=multi_label, **sizes,
    )  # fmt: skip
    quiet_transformers()
    with written_atomically(folder, kind="student", key=Key(section={}, inputs={})) as scratch:
        network.save_pretrained(scratch)
        tokenizer.save(scratch / "tokenizer.json")
        save_student_facts(scratch, facts, history=[])
    return StudentFolder(folder)


def _toy_tokenizer() -> Any:
    """A WordPiece tokenizer that knows the toy words and every letter, so that no English word is unknown to it."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import BertTokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = [*special, *DECIDING, *NEUTRAL, *letters, *(f"##{letter}" for letter in letters), *".,!?'\"-"]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    backend.decoder = decoders.WordPiece()
    return BertTokenizer(tokenizer_object=backend)


class ScriptedChat:
    """`benchmarks/chat_server.py` in a process of its own: a language model that answers and fails as it is told."""

    def __init__(self) -> None:
        script = Path(__file__).resolve().parents[1] / "benchmarks" / "chat_server.py"
        self._process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{self._process.stdout.readline().strip()}"

    def script(self, **settings: Any) -> None:
        """How it answers from now on; what it has seen is forgotten."""
        body = json.dumps({"words": DECIDING, **settings}).encode()
        self._asked(urllib.request.Request(f"{self.url}/script", body, method="PUT"))

    def seen(self) -> dict[str, Any]:
        """What it was asked since then."""
        return self._asked(urllib.request.Request(f"{self.url}/seen"))

    def answered(self, batch: Path, out: Path, *, most: int) -> Path:
        """The answers to the first requests of a batch file, as OpenAI writes them."""
        lines = []
        for line in batch.read_text(encoding="utf-8").splitlines()[:most]:
            given = json.loads(line)
            body = json.dumps(given["body"]).encode()
            found = self._asked(urllib.request.Request(f"{self.url}{given['url']}", body, method="POST"))
            response = {"status_code": 200, "request_id": "r", "body": found}
            lines.append(json.dumps({"id": "b", "custom_id": given["custom_id"], "response": response, "error": None}))
        out.write_text("\n".join(lines), encoding="utf-8")
        return out

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _asked(self, request: urllib.request.Request) -> dict[str, Any]:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return dict(json.load(answer))


@pytest.fixture(scope="session")
def chat_process() -> Iterator[ScriptedChat]:
    """The server, one for all tests of this process."""
    server = ScriptedChat()
    yield server
    server.close()


@pytest.fixture
def chat(chat_process: ScriptedChat) -> ScriptedChat:
    """The server, which knows the toy words and has no faults yet."""
    chat_process.script()
    return chat_process
