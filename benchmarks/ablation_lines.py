"""What the ablation of the SST-2 result changes, one thing at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

FULL = "sst2-text"


@dataclass(frozen=True)
class Setting:
    """One change to the full recipe; none at all is the full recipe itself."""

    name: str
    overrides: Sequence[str] = ()
    recipe: str = FULL


@dataclass(frozen=True)
class Ablation:
    """Settings of one thing, in the order of the picture."""

    name: str
    title: str
    settings: Sequence[Setting]
    is_number: bool = True


GLOVE = "vectors/glove.6B.100d.top50k.txt.gz"
WITHOUT_TEXT = Setting(
    "0",
    ["student.vocabulary.max_size=40_000", "distillation.batch_size=512", "distillation.epochs=12"],
    recipe="sst2",
)  # as the full recipe, but for the text
TANG = "methods=[{kind='masking'}, {kind='pos_swap'}, {kind='ngram'}]"
ABLATIONS = [
    Ablation(
        "rows",
        "rows of unlabelled text",
        [
            WITHOUT_TEXT,
            *(Setting(f"{rows:,}", [f"transfer.rows={rows}"]) for rows in (10_000, 50_000, 200_000)),
            Setting("all"),
        ],
    ),
    Ablation(
        "vectors",
        "word vectors to begin with",
        [
            Setting("random", ["student.word_vectors=random", "student.tune_vectors=true"]),  # else they say nothing
            Setting("GloVe", [f"student.word_vectors={GLOVE}"]),
            Setting("the teacher's", ["student.word_vectors=teacher"]),
            Setting("teacher and GloVe"),
        ],
        is_number=False,
    ),
    Ablation(
        "loss",
        "loss",
        [
            Setting("logit MSE"),
            Setting("logit MSE + labels", ["distillation.losses=[{kind='logit_mse'}, {kind='hard_labels'}]"]),
            Setting("KL, T = 1", ["distillation.losses=[{kind='soft_targets', temperature=1.0}]"]),
            Setting("KL, T = 3", ["distillation.losses=[{kind='soft_targets', temperature=3.0}]"]),
        ],
        is_number=False,
    ),
    Ablation(
        "hidden",
        "hidden size of each direction",
        [
            Setting("50", ["student.hidden_size=50"]),
            Setting("100", ["student.hidden_size=100"]),
            Setting("150", ["student.hidden_size=150"]),
            Setting("300"),
        ],
    ),
    Ablation(
        "tuning",
        "what becomes of the word vectors",
        [
            Setting("they are fixed"),
            Setting("they learn", ["student.tune_vectors=true"]),
            Setting("both, side by side", ["student.tune_vectors=true", "student.static_channel=true"]),
        ],
        is_number=False,
    ),
    Ablation(
        "width",
        "numbers of a word that come from the teacher",
        [
            *(Setting(f"{width}", [f"student.embedding_size={width}"]) for width in (50, 100)),
            Setting("300"),
            Setting("768", ["student.embedding_size=768"]),
        ],
    ),
    Ablation(
        "layers",
        "recurrent layers",
        [Setting("1"), Setting("2", ["student.layers=2"])],
    ),
    Ablation(
        "vocabulary",
        "words of the vocabulary",
        [
            *(
                Setting(f"{words:,}", [f"student.vocabulary.max_size={words}"])
                for words in (2_500, 5_000, 10_000, 20_000)
            ),
            Setting("40,000"),
        ],
    ),
    Ablation(
        "averaging",
        "running mean of the weights",
        [
            Setting("none"),
            *(Setting(decay, [f"distillation.average={decay}"]) for decay in ("0.99", "0.997", "0.999")),
        ],
        is_number=False,
    ),
    Ablation(
        "copies",
        "copies of each unlabelled sentence",
        [
            Setting("0"),
            *(
                Setting(f"{copies}", [f"augmentation={{copies=0, transfer_copies={copies}, {TANG}}}"])
                for copies in (1, 2)
            ),
        ],
    ),
    Ablation(
        "teacher",
        "teacher",
        [
            Setting("MiniLM, 22.7M", ["teacher.checkpoint=all-MiniLM-L6-v2", "teacher.learning_rate=1e-4"]),
            Setting("MPNet, 109.5M"),
        ],
        is_number=False,
    ),
]
