"""A real server of language models, `transformers serve`, with a tiny model that answers A or B at random."""

import csv
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from limbeck.annotation.run import WantedLabels, annotate
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from tests.unit.teacher.test_families import byte_pairs

pytestmark = [
    pytest.mark.trial,
    pytest.mark.skipif("LIMBECK_DATA" not in os.environ, reason="trials run where LIMBECK_DATA names a folder"),
    pytest.mark.skipif(shutil.which("transformers") is None, reason="the command transformers is not there"),
]
WORDS = ["the", "film", "is", "gorgeous", "dreadful", "Answer", "with", "one", "letter", "A", "B"]
START, END = "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for message in messages %}" + START + "{{ message.role }}\n{{ message.content }}" + END + "\n{% endfor %}"
    "{% if add_generation_prompt %}" + START + "assistant\n{% endif %}"
)
SAMPLES, TEXTS = 2, 30


def write_language_model(folder: Path) -> None:
    """Qwen2 with two layers; its output layer is turned so that it says A or B and no more, whatever it is asked."""
    tokenizer = transformers.Qwen2Tokenizer(**byte_pairs(WORDS, "<|endoftext|>", START, END))
    tokenizer.chat_template = TEMPLATE
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=24,
        max_window_layers=2,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.convert_tokens_to_ids(END),
        pad_token_id=0,
    )
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    question = [{"role": "user", "content": "the film is gorgeous"}]
    ids = tokenizer(tokenizer.apply_chat_template(question, tokenize=False, add_generation_prompt=True))["input_ids"]
    letters, end = tokenizer.convert_tokens_to_ids(["A", "B"]), tokenizer.convert_tokens_to_ids(END)
    with torch.no_grad():
        read = [
            model.model(input_ids=torch.tensor([[*ids, *more]])).last_hidden_state[0, -1]
            for more in ([], *zip(letters))
        ]
        states = torch.linalg.pinv(torch.stack(read))  # (width, states): what gives each state a wanted logit
        for letter in letters:
            model.lm_head.weight[letter] = states @ torch.tensor([20.0, -20.0, -20.0])
        model.lm_head.weight[end] = states @ torch.tensor([-20.0, 20.0, 20.0])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Its address, and the model that it serves."""
    folder = tmp_path_factory.mktemp("language-model") / "tiny"
    write_language_model(folder)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = ["transformers", "serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with (folder.parent / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            _wait(f"http://127.0.0.1:{port}/", process)
            yield f"http://127.0.0.1:{port}", folder
        finally:
            process.terminate()


def _wait(url: str, process: "subprocess.Popen[bytes]", *, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return  # it has no such page, and says so
        except OSError:
            time.sleep(0.5)
        else:
            return
    pytest.fail("transformers serve does not answer")


def test_texts_without_labels_become_a_model_and_nothing_is_asked_twice(
    server: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy_rows: Any
) -> None:
    """It gives no logprobs, and one answer at a time: so the probabilities are votes."""
    url, folder = server
    monkeypatch.chdir(tmp_path)
    with Path("mails.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text",), *((text,) for text, _ in toy_rows[:TEXTS])])
    settings = (f"teacher.samples={SAMPLES}", "teacher.concurrency=2", "teacher.timeout=120")
    small = ("student.kind=ngrams", "candidates=[]", "distillation.epochs=1", "distillation.baseline=false")
    quick = ("evaluation.latency_rows=4", "evaluation.rival=false", "export.int8_agreement=0.0")
    wanted = WantedLabels(
        classes=("praise", "complaint"), url=url, model=str(folder), overrides=(*settings, *small, *quick)
    )

    found = annotate(Path("mails.csv"), wanted, reporter=SilentReporter())
    first = json.loads(Path("mails-labels/labels.json").read_text(encoding="utf-8"))
    report = run(found.recipe, overrides=wanted.changes, reporter=SilentReporter()).report
    annotate(Path("mails.csv"), wanted, reporter=SilentReporter())
    again = json.loads(Path("mails-labels/labels.json").read_text(encoding="utf-8"))

    with Path("mails-labels/train.csv").open(encoding="utf-8", newline="") as file:
        shares = [float(line["praise"]) for line in csv.DictReader(file)]
    assert len(shares) == first["answered"] == TEXTS - TEXTS // 5
    assert 2 <= len(set(shares)) <= SAMPLES + 1  # how many of the votes were for it
    assert first["spent"]["requests"] >= SAMPLES * TEXTS
    assert first["spent"]["tokens_in"] > 20 * first["spent"]["requests"]
    assert again["spent"] == first["spent"]
    assert report["labelled_by"]["model"] == "tiny"
