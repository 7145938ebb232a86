"""The kinds of students and losses: one row per kind, which names all the code that implements it.

A row names code as "package.module:attribute", imported when it is first needed. So importing the table is cheap and
needs no torch, and every room may use it. tests/architecture/test_kinds.py checks that every row is complete.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

DEFAULT_STUDENT = "bilstm"  # for a `[student]` table without a kind
AUTO = "auto"  # `student.kind`: the default student, and as further candidates
AUTO_CANDIDATES = ("ngrams", "textcnn")
# Keys that all of them get.
AUTO_SHARED = ("start", "word_vectors", "embedding_size", "max_size_mb", "max_length", "vocabulary")


@dataclass(frozen=True, kw_only=True)
class StudentKind:
    """A kind of student: `[student] kind = "…"`. Fields that name code have the form "package.module:attribute"."""

    kind: str  # its name in recipes, variants, folders and graphs
    title: str  # its name in cards and reports
    section: str  # the class of its recipe section: a WordStudent, or another Section
    network: str  # (section, **task) → the network, newly initialised
    model_type: str | None  # in its config.json; None: any family of transformers
    config_class: str | None  # for Hugging Face's Auto classes; None: already in transformers
    model_class: str | None
    graph: str  # (network) → its ONNX graph in fp32; (network, pair=…) for a kind that reads pairs together
    int8: str  # (graph) → the graph quantised to int8
    multiply_adds: str  # (config, tokens=…, classes=…, exported=…) → multiply-adds per row
    native_plan: str | None  # (graph) → its network in the C++ extension; None: only onnxruntime runs it
    size_levers: tuple[str, ...]  # keys of [student], in addition to the vocabulary, that make it smaller
    tokenizer: Literal["words", "framed"]  # a StudentTokenizer, or a FramedTokenizer: with special tokens
    pairs: Literal["apart", "together"]  # reads the two texts of a pair separately, or as one input
    starts_from: Literal["word_vectors", "teacher_layers", "labels"]  # of the teacher; "labels": nothing of it
    body_shape: (
        tuple[str, ...] | None
    )  # keys of [student] that fix the body `limbeck pretrain` teaches; None: it cannot
    is_searched: bool = True  # by `limbeck search`: as many epochs suit it as the others
    has_layers: bool  # that losses on layers can read; its features are then the last state of its first token


STUDENT_KINDS: dict[str, StudentKind] = {
    row.kind: row
    for row in (
        StudentKind(
            kind="bilstm",
            title="Bi-LSTM",
            section="limbeck.recipe.student:BiLstm",
            network="limbeck.models.bilstm:bilstm",
            model_type="limbeck_bilstm",
            config_class="limbeck.models.bilstm:BiLstmConfig",
            model_class="limbeck.models.bilstm:BiLstmForSequenceClassification",
            graph="limbeck.export.bilstm_graph:bilstm_graph",
            int8="limbeck.export.bilstm_graph:bilstm_int8",
            multiply_adds="limbeck.models.bilstm:bilstm_multiply_adds",
            native_plan="limbeck.runtime.native_graph:recurrent",
            size_levers=("hidden_size", "embedding_size", "vector_rank", "compare_size"),
            tokenizer="words",
            pairs="apart",
            starts_from="word_vectors",
            body_shape=("hidden_size", "layers", "cell", "pooling"),
            has_layers=False,
        ),
        StudentKind(
            kind="textcnn",
            title="text CNN",
            section="limbeck.recipe.student:TextCnn",
            network="limbeck.models.textcnn:textcnn",
            model_type="limbeck_textcnn",
            config_class="limbeck.models.textcnn:TextCnnConfig",
            model_class="limbeck.models.textcnn:TextCnnForSequenceClassification",
            graph="limbeck.export.textcnn_graph:textcnn_graph",
            int8="limbeck.export.textcnn_graph:textcnn_int8",
            multiply_adds="limbeck.models.textcnn:textcnn_multiply_adds",
            native_plan="limbeck.runtime.native_graph:convolution",
            size_levers=("filters", "embedding_size", "vector_rank"),
            tokenizer="words",
            pairs="apart",
            starts_from="word_vectors",
            body_shape=("windows", "filters"),
            has_layers=False,
        ),
        StudentKind(
            kind="bag",
            title="weighted mean of word vectors",
            section="limbeck.recipe.student:Bag",
            network="limbeck.models.bag:bag",
            model_type="limbeck_bag",
            config_class="limbeck.models.bag:BagConfig",
            model_class="limbeck.models.bag:BagForSequenceClassification",
            graph="limbeck.export.bag_graph:bag_graph",
            int8="limbeck.export.bag_graph:bag_int8",
            multiply_adds="limbeck.models.bag:bag_multiply_adds",
            native_plan="limbeck.runtime.native_graph:bag",
            size_levers=("dense_size", "embedding_size", "vector_rank", "compare_size"),
            tokenizer="words",
            pairs="apart",
            starts_from="word_vectors",
            body_shape=("word_weights",),
            has_layers=False,
        ),
        StudentKind(
            kind="ngrams",
            title="hashed n-grams",
            section="limbeck.recipe.student:Ngrams",
            network="limbeck.models.ngrams:ngrams",
            model_type="limbeck_ngrams",
            config_class="limbeck.models.ngrams:NgramsConfig",
            model_class="limbeck.models.ngrams:NgramsForSequenceClassification",
            graph="limbeck.export.ngrams_graph:ngrams_graph",
            int8="limbeck.export.int8:int8_graph",
            multiply_adds="limbeck.models.ngrams:ngrams_multiply_adds",
            native_plan="limbeck.runtime.native_graph:ngrams",
            size_levers=("embedding_size", "dense_size"),
            tokenizer="words",
            pairs="apart",
            starts_from="labels",
            body_shape=None,
            has_layers=False,
        ),
        StudentKind(
            kind="textgcn",
            title="graph of words and documents",
            section="limbeck.recipe.textgcn:TextGcn",
            network="limbeck.models.textgcn:textgcn",
            model_type="limbeck_textgcn",
            config_class="limbeck.models.textgcn:TextGcnConfig",
            model_class="limbeck.models.textgcn:TextGcnForSequenceClassification",
            graph="limbeck.export.textgcn_graph:textgcn_graph",
            int8="limbeck.export.int8:int8_graph",
            multiply_adds="limbeck.models.textgcn:textgcn_multiply_adds",
            native_plan=None,
            size_levers=("vocabulary",),
            tokenizer="words",
            pairs="apart",
            starts_from="labels",
            body_shape=None,
            is_searched=False,
            has_layers=False,
        ),
        StudentKind(
            kind="transformer",
            title="small transformer",
            section="limbeck.recipe.student:Transformer",
            network="limbeck.models.transformer:transformer_student",
            model_type=None,
            config_class=None,
            model_class=None,
            graph="limbeck.export.transformer_graph:transformer_graph",
            int8="limbeck.export.transformer_int8:transformer_int8",
            multiply_adds="limbeck.models.multiply_adds:transformer_multiply_adds",
            native_plan=None,
            size_levers=("layers", "width", "inner_size", "layer_groups", "embedding_size"),
            tokenizer="framed",
            pairs="together",
            starts_from="teacher_layers",
            body_shape=None,
            has_layers=True,
        ),
    )
}


def kind_of_config(model_type: str) -> StudentKind:
    """The kind of student with this model_type; any other model_type belongs to the kind that has None."""
    by_model_type = {row.model_type: row for row in STUDENT_KINDS.values()}
    return by_model_type.get(model_type, by_model_type[None])


@dataclass(frozen=True, kw_only=True)
class LossKind:
    """A kind of loss: `[[distillation.losses]] kind = "…"`. Code is named as "package.module:attribute"."""

    kind: str
    section: str  # the class of its recipe section
    function: str | None  # the formula, a pure function of tensors; None for custom losses
    function_of_sets: str | None  # the formula for rows with several labels; None: `function`, if it applies
    function_of_scores: str | None  # the formula for scores; None: `function`, if it applies
    term: str  # (section, shapes) → the Term that calls the formula
    scores: Literal["too", "never", "only"] = "too"  # whether it can be used where rows have scores
    # What a loss on layers is a mean over: rows, their tokens, or pairs of tokens. Where several processes train
    # together, each compares the layers of its own rows; all other losses are computed for the batch as a whole.
    mean_over: Literal["rows", "tokens", "pairs"] | None = None


def _loss(
    kind: str,
    section: str,
    group: str,
    *,
    term: str,
    function: str | None = None,
    function_of_sets: str | None = None,
    function_of_scores: str | None = None,
    scores: Literal["too", "never", "only"] = "too",
    sections: str = "losses",
    mean_over: Literal["rows", "tokens", "pairs"] | None = None,
) -> LossKind:
    """A loss of this package: the formulas of a group are in one file, its terms in another. Default for the function:
    the name of the kind."""
    formulas = f"limbeck.distillation.losses.{group}"
    return LossKind(
        kind=kind,
        section=f"limbeck.recipe.{sections}:{section}",
        function=f"{formulas}:{function or kind}",
        function_of_sets=f"{formulas}:{function_of_sets}" if function_of_sets else None,
        function_of_scores=f"{formulas}:{function_of_scores}" if function_of_scores else None,
        term=f"limbeck.distillation.terms.{group}:{term}",
        scores=scores,
        mean_over=mean_over,
    )


LOSS_KINDS: dict[str, LossKind] = {
    row.kind: row
    for row in (
        _loss(
            "hard_labels",
            "HardLabels",
            "logits",
            term="LabelTerm",
            function_of_sets="hard_label_sets",
            function_of_scores="score_labels",
        ),
        _loss("logit_mse", "LogitMse", "logits", term="LogitTerm"),
        _loss(
            "probability_mse",
            "ProbabilityMse",
            "logits",
            term="LogitTerm",
            function_of_sets="probability_mse_sets",
            scores="never",
        ),
        _loss(
            "soft_targets",
            "SoftTargets",
            "logits",
            term="SoftTargetTerm",
            function_of_sets="soft_target_sets",
            scores="never",
        ),
        _loss(
            "certain_targets",
            "CertainTargets",
            "logits",
            term="LogitTerm",
            function_of_sets="certain_target_sets",
            scores="never",
            sections="certainty",
        ),
        _loss("jensen_shannon", "JensenShannon", "logits", term="LogitTerm", scores="never"),
        _loss("dkd", "Dkd", "logits", term="LogitTerm", scores="never"),
        _loss("dist", "Dist", "logits", term="LogitTerm", scores="never"),
        _loss("standardised_logits", "StandardisedLogits", "logits", term="LogitTerm", scores="never"),
        _loss("huber", "Huber", "logits", term="LogitTerm", scores="only"),
        _loss("ranking", "Ranking", "logits", term="LogitTerm", scores="only"),
        _loss("hint", "Hint", "features", term="ProjectedFeatures", sections="feature_losses"),
        _loss("feature_cosine", "FeatureCosine", "features", term="ProjectedFeatures", sections="feature_losses"),
        _loss("spkd", "Spkd", "features", term="FeatureTerm", sections="feature_losses"),
        _loss("rkd", "Rkd", "features", term="FeatureTerm", sections="feature_losses"),
        _loss("factor_transfer", "FactorTransfer", "features", term="Factors", sections="feature_losses"),
        _loss("pkt", "Pkt", "features", term="FeatureTerm", sections="feature_losses"),
        _loss("vid", "Vid", "features", term="Variational", sections="feature_losses"),
        _loss("crd", "Crd", "features", term="Contrast", sections="feature_losses"),
        _loss("hidden_mse", "HiddenMse", "layers", term="HiddenStates", mean_over="tokens"),
        _loss("hidden_cosine", "HiddenCosine", "layers", term="HiddenStates", mean_over="tokens"),
        _loss("attention_mse", "AttentionMse", "layers", term="Attention", mean_over="pairs"),
        _loss("attention_kl", "AttentionKl", "layers", term="Attention", mean_over="tokens"),
        _loss("pkd", "Pkd", "layers", term="Patience", mean_over="rows"),
        _loss("nst", "Nst", "layers", term="Selectivity", mean_over="pairs"),
        _loss("embedding_mse", "EmbeddingMse", "layers", term="Embeddings", function="hidden_mse", mean_over="tokens"),
        _loss("minilm", "MiniLm", "layers", term="LastRelations", mean_over="tokens"),
        _loss("minilm_v2", "MiniLmV2", "layers", term="HeadRelations", mean_over="tokens"),
        _loss("fsp", "Fsp", "layers", term="Flow", mean_over="rows"),
        LossKind(
            kind="custom",
            section="limbeck.recipe.losses:Custom",
            function=None,
            function_of_sets=None,
            function_of_scores=None,
            term="limbeck.distillation.terms.custom:CustomTerm",
        ),
    )
}


def resolved(name: str) -> Any:
    """The object that a row names as "package.module:attribute"."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
