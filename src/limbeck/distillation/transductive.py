"""The published set-up of a graph convolution: dev and test texts are nodes too, and are judged inside the graph."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.student_folder import LOSSES, StudentFacts, StudentFolder, save_student_facts
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.graph_vocabulary import inverse_root, known_words
from limbeck.distillation.word_graph import WordGraph
from limbeck.kinds import STUDENT_KINDS
from limbeck.models.size import parameter_count, parameter_count_without_embeddings
from limbeck.models.textgcn import Propagation, textgcn
from limbeck.progress import Reporter
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.textgcn import TextGcn
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.training.device import training_device
from limbeck.training.modes import quiet_transformers

PATIENCE = 10  # epochs whose mean loss on dev the next one must not exceed, as in the published code


class WholeGraph(nn.Module):
    """Â relu(Â E) W over words and documents, each with a vector of its own in E (Yao et al. 2019, equation 7)."""

    def __init__(self, section: TextGcn, *, words: int, documents: int, classes: int) -> None:
        super().__init__()
        self.words, self.dropout = words, section.dropout
        self.vectors = nn.Parameter(torch.empty(words + documents, section.hidden_size))
        self.classifier = nn.Parameter(torch.empty(section.hidden_size, classes))
        nn.init.xavier_uniform_(self.vectors)
        nn.init.xavier_uniform_(self.classifier)

    def states(self, edges: Propagation) -> Tensor:
        """(nodes, width): the first layer."""
        vectors: Tensor = self.vectors
        if self.training:  # the input of a node is one number, its own
            kept = torch.rand(len(vectors), 1, device=vectors.device) >= self.dropout
            vectors = vectors * kept / (1 - self.dropout)
        return torch.relu(edges(vectors))

    def forward(self, edges: Propagation) -> Tensor:
        """(documents, classes): the logits of all documents at once."""
        states = nn.functional.dropout(self.states(edges), self.dropout, training=self.training)
        return edges(states @ self.classifier)[self.words :]


@dataclass(frozen=True)
class Documents:
    """All labelled rows of all splits, in order, and where those of each split are."""

    words: list[npt.NDArray[np.int64]]
    labels: npt.NDArray[np.int64]
    places: dict[str, npt.NDArray[np.int64]]  # of labelled rows that have a known class

    @classmethod
    def of(cls, corpus: Corpus, tokenizer: StudentTokenizer, *, max_length: int) -> "Documents":
        """The rows of train, dev and test."""
        words: list[npt.NDArray[np.int64]] = []
        labels, places = [], {}
        for split, rows in corpus.splits.items():
            places[split] = len(words) + np.flatnonzero(rows.is_labelled)
            words += known_words(rows, tokenizer, max_length=max_length)
            labels.append(rows.labels)
        return cls(words, np.concatenate(labels), places)


def edges_of(graph: WordGraph) -> Propagation:
    """D^-½ A D^-½ of words and documents together; every node has an edge to itself."""
    from scipy.sparse import block_array, diags_array, eye_array

    edges = block_array([[graph.words, graph.documents.T], [graph.documents, None]], format="csr")
    edges = edges + eye_array(edges.shape[0])
    root = diags_array(inverse_root(np.asarray(edges.sum(axis=1)).ravel()))
    return Propagation.of(root @ edges @ root)


def train_transductive(
    section: TextGcn,
    settings: Distillation,
    *,
    seed: int,
    corpus: Corpus,
    vocabulary: VocabularyFolder,
    out: Any,
    key: Key,
    reporter: Reporter,
) -> StudentFolder:
    """Train on the labels of train inside a graph of all rows; write the numbers, and the words' part of the network.

    All rows are one batch, with Adam at a constant rate. The training ends when the loss on dev exceeds the mean of the
    ten epochs before.
    """
    tokenizer = StudentTokenizer.load(vocabulary.tokenizer)
    documents = Documents.of(corpus, tokenizer, max_length=section.max_length)
    quiet_transformers()
    graph = WordGraph.of(documents.words, words=len(tokenizer), window=section.window)
    device, edges = training_device(), edges_of(graph)
    edges = edges.to(device)
    torch.manual_seed(seed)
    network = WholeGraph(section, words=len(tokenizer), documents=len(documents.words), classes=len(corpus.labels)).to(
        device
    )
    with written_atomically(out, kind="student", key=key) as scratch:
        history = list(_epochs(network, edges, documents, section, settings, reporter=reporter))
        accuracies = {
            split: history[-1][f"{split}_accuracy"] for split in ("dev", "test") if f"{split}_accuracy" in history[-1]
        }
        table = textgcn(
            section,
            vocabulary_size=len(tokenizer),
            embedding_size=len(corpus.labels),
            labels=corpus.labels,
            pair=corpus.is_pair,
        )
        table.save_pretrained(scratch)
        shutil.copyfile(vocabulary.tokenizer, scratch / "tokenizer.json")
        facts = StudentFacts(
            name=section.kind,
            kind=section.kind,
            role="student",
            seed=seed,
            labels=corpus.labels,
            language=corpus.language,
            pair=corpus.is_pair,
            max_length=section.max_length,
            parameters=parameter_count(network),
            parameters_without_embeddings=parameter_count_without_embeddings(network),
            best_epoch=len(history),
            dev_accuracy=accuracies.get("dev"),
            dev_score=accuracies.get("dev"),
            dev_measure="accuracy",
            tokenizer=STUDENT_KINDS[section.kind].tokenizer,
            transductive=accuracies,
        )
        save_student_facts(scratch, facts, history=history)
        (scratch / LOSSES).write_text(json.dumps([[]]), encoding="utf-8")
    found = ", ".join(f"{accuracy:.1%} on {split}" for split, accuracy in accuracies.items())
    reporter.note(f"  {section.kind}, seed {seed}, inside the graph: {found}, after {len(history)} epochs")
    return StudentFolder(out)


def _epochs(
    network: WholeGraph,
    edges: Propagation,
    documents: Documents,
    section: TextGcn,
    settings: Distillation,
    *,
    reporter: Reporter,
) -> Iterator[dict[str, Any]]:
    """One after the other, each with its loss and its accuracies."""
    labels = torch.from_numpy(documents.labels).to(network.vectors.device)
    places = {split: torch.from_numpy(rows).to(labels.device) for split, rows in documents.places.items() if len(rows)}
    optimizer = torch.optim.Adam(network.parameters(), lr=section.learning_rate)
    losses: list[float] = []
    with reporter.bar("training textgcn on all texts", total=settings.epochs, unit="epochs") as bar:
        for epoch in range(1, settings.epochs + 1):
            network.train()
            loss = nn.functional.cross_entropy(network(edges)[places["train"]], labels[places["train"]])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            found = _judged(network, edges, labels, places)
            yield {"epoch": epoch, "loss": float(loss.detach()), **found}
            bar.advance(1)
            losses.append(found.get("dev_loss", 0.0))
            if len(losses) > PATIENCE + 1 and losses[-1] > float(np.mean(losses[-PATIENCE - 1 : -1])):
                return


@torch.no_grad()
def _judged(network: WholeGraph, edges: Propagation, labels: Tensor, places: dict[str, Tensor]) -> dict[str, float]:
    """The loss on dev, and the accuracy on dev and test; a label that train lacks is never right."""
    logits = network.eval()(edges)
    found = {
        f"{split}_accuracy": float((logits[rows].argmax(dim=1) == labels[rows]).float().mean())
        for split, rows in places.items()
        if split != "train"
    }
    if "dev" in places:
        dev = places["dev"][labels[places["dev"]] >= 0]
        found["dev_loss"] = float(nn.functional.cross_entropy(logits[dev], labels[dev]))
    return found
