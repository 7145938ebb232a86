"""The tables of docs/results.md: which recipe each line runs, what others published, and what differs."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# MPNet's layers, which DistilBERT's family would take over without their bias by distance.
OF_THE_TEACHER = "student.family=teacher"
BIG_BATCH = "distillation.batch_size=512"
TRANSFORMER_BATCH = "distillation.batch_size=128"
OF_NO_GENERAL_TEXT = (
    "TinyBERT and DistilBERT start from this teacher, the one from its embeddings, the other from every other layer as "
    "well, and their students alone from the same parts of it as it was before its fine-tuning; the published ones "
    "were distilled on general text first."
)
# A transformer takes long over long reviews on a CPU: no more of them than a comparison needs.
FEW_COMPARED = ["export.parity_rows=100", "export.calibrate=false"]
OUR_STUDENT = [
    "student.hidden_size=300",
    "student.pooling=max",
    "student.static_channel=false",
    "student.tune_vectors=false",
]


@dataclass(frozen=True)
class Line:
    """A recipe of the package, with changed keys."""

    name: str
    recipe: str
    shown: str
    overrides: Sequence[str] = ()
    differs: str = ""  # what the page says of the line, where it was run


@dataclass(frozen=True)
class Published:
    """What others report, in percent; `judged` says on which rows, `faster` against which model."""

    system: str
    judged: str
    source: str
    teacher: str = "–"
    alone: str = "–"
    distilled: str = "–"
    parameters: str = "–"
    faster: str = "–"
    best: float | None = None  # the distilled recurrent student, where it is judged on the same kind of rows as ours
    point: tuple[str, float, float] | None = None  # short name, times faster, accuracy: its place in the picture
    by_line: Mapping[str, float] = field(default_factory=dict)  # by our line that does the same: what they report of it


@dataclass(frozen=True)
class Table:
    """A data set's lines, in the order of the page."""

    name: str
    title: str
    lines: Sequence[Line]
    published: Sequence[Published] = ()
    differs: Sequence[str] = ()
    has_classes: bool = False  # whether the page tells the classes one by one
    aim: float | None = None  # points over the student alone that we set out for


PADDLE, PROJECT = "PaddleNLP, distill_lstm", "a BERT → Bi-LSTM project with FT and SPKD"

SST2 = Table(
    name="sst2",
    title="SST-2",
    lines=[
        Line("rows", "sst2", "logits, on the same rows"),
        Line("kd", "sst2-kd", "Hinton's KD"),
        Line("tang", "sst2-tang", "Tang, as published: copies of the rows", [BIG_BATCH]),
        Line("copies", "sst2-tang", "Tang's copies, our student", [BIG_BATCH, *OUR_STUDENT]),
        Line("factor-transfer", "sst2-factor-transfer", "factor transfer"),
        Line("spkd", "sst2-spkd", "SPKD"),
        Line("text", "sst2-text", "+ unlabelled text"),
        Line("text-copies", "sst2-text-copies", "+ unlabelled text and copies of the rows"),
        Line("1m", "sst2-1m", "+ unlabelled text, under 1M parameters"),
        Line(
            "tinybert",
            "sst2-text-tinybert",
            "TinyBERT, 4 layers of 312, + 100,000 rows of unlabelled text",
            [
                "transfer.rows=100000",
                "distillation.batch_size=256",
                "distillation.stages.0.epochs=3",
                "distillation.stages.1.epochs=6",
            ],
            differs=OF_NO_GENERAL_TEXT,
        ),
        Line(
            "distilbert",
            "sst2-distilbert",
            "DistilBERT, 6 layers of 768",
            [OF_THE_TEACHER, TRANSFORMER_BATCH],
            differs=OF_NO_GENERAL_TEXT,
        ),
    ],
    published=[
        Published(PADDLE, "dev", "README", "93.0", "85.4", "88.8", "9M and more", best=88.76),
        Published(
            PROJECT,
            "dev",
            "its table",
            "91.5",
            "85.8",
            "Tang 88.3, FT 86.2, SPKD 89.0",
            "23M",
            "18× BERT",
            best=89.0,
            point=("SPKD, published", 18, 89.0),
            by_line={"tang": 88.3, "factor-transfer": 86.2, "spkd": 89.0, "tinybert": 90.9},
        ),
        Published(
            "Intel Neural Compressor, 2-layer Bi-LSTM",
            "dev",
            "validated_model_list.md",
            "94.0",
            "83.1",
            "90.5",
            "0.66M",
            best=90.48,
        ),
        Published(
            "Tang et al. 2019",
            "test",
            "arXiv:1903.12136",
            "94.9",
            "86.7",
            "90.7",
            "0.96M without embeddings",
            "434× BERT-large",
        ),
        Published(
            "MKD-LSTM (Liu et al. 2019)",
            "test",
            "arXiv:1911.03588, by Ganesh et al. 2021",
            distilled="91.0",
            parameters="24 % of BERT-base",
            faster="8.6× BERT-base, CPU",
            point=("MKD-LSTM", 8.6, 91.0),
        ),
        Published(
            "AdaBERT (convolutions)",
            "test",
            "Ganesh et al. 2021",
            distilled="91.8",
            parameters="7 % of BERT-base",
            faster="19.5×",
            point=("AdaBERT", 19.5, 91.8),
        ),
        Published(
            "DistilBERT",
            "dev",
            "its README",
            "92.7",
            distilled="91.3",
            parameters="66M",
            faster="1.6×, CPU",
            point=("DistilBERT", 1.6, 91.3),
            by_line={"distilbert": 91.3},
        ),
        Published(
            "TinyBERT-4",
            "test",
            "Ganesh et al. 2021",
            "93.5",
            distilled="92.6",
            parameters="14.5M",
            faster="9.4×",
            point=("TinyBERT-4", 9.4, 92.6),
        ),
        Published(
            "MiniLM, 6 layers of 384",
            "dev",
            "XtremeDistil's README",
            distilled="91.3",
            parameters="22M",
            faster="5.3×",
            point=("MiniLM-6", 5.3, 91.3),
        ),
    ],
    differs=[
        "The teacher is all-mpnet-base-v2, of BERT-base's size but trained further by its makers on a billion pairs of "
        "sentences (questions, answers, captions, comments; no labels of sentiment); published ones are BERT-base, "
        "BERT-large and RoBERTa-base.",
        "Published numbers on test come from GLUE's server, ours are on dev, which also chose the epoch.",
        "Unlabelled text: sentences of IMDB reviews, without their labels. SST-2's own sentences are of Rotten "
        "Tomatoes, of which nothing was added.",
    ],
)

IMDB = Table(
    name="imdb",
    title="IMDB",
    lines=[
        Line("rows", "imdb", "logits, on the same rows"),
        Line("tang", "imdb-tang", "Tang, as published: copies of the rows", ["augmentation.copies=4"]),
        Line("factor-transfer", "imdb-factor-transfer", "factor transfer"),
        Line("spkd", "imdb-spkd", "SPKD"),
        Line("text", "imdb-text", "+ sentences and passages of train"),
        Line(
            "tinybert",
            "imdb-tinybert",
            "TinyBERT, 4 layers of 312",
            [
                "student.max_length=256",
                "distillation.batch_size=64",
                "distillation.epochs=3",
                "distillation.stages.0.epochs=3",
                "distillation.stages.1.epochs=3",
                *FEW_COMPARED,
            ],
            differs=OF_NO_GENERAL_TEXT,
        ),
        Line(
            "distilbert",
            "imdb-distilbert",
            "DistilBERT, 6 layers of 768",
            [
                OF_THE_TEACHER,
                "distillation.batch_size=64",
                "distillation.epochs=2",
                *FEW_COMPARED,
                'export.precisions=["fp32"]',
            ],
            differs="DistilBERT has no int8 file there: for its accuracy a CPU would have to read 10,000 long reviews "
            "once for each of three seeds.",
        ),
    ],
    published=[
        Published(
            PROJECT,
            "test",
            "its table",
            "92.0",
            "86.9",
            "Tang 89.3, FT 87.1, SPKD 89.7",
            "23M",
            "18× BERT",
            best=89.7,
            point=("SPKD, published", 18, 89.7),
            by_line={"tang": 89.3, "factor-transfer": 87.1, "spkd": 89.7, "tinybert": 90.7},
        ),
        Published(
            "DistilBERT",
            "test",
            "its paper",
            "93.5",
            distilled="92.8",
            parameters="66M",
            faster="1.6×, CPU",
            point=("DistilBERT", 1.6, 92.8),
            by_line={"distilbert": 92.8},
        ),
    ],
    differs=[
        "Dev is 10,000 rows of the official test set, and chose the epoch; training rows that stand in it were taken "
        "out.",
        "The teacher reads the beginning and the end of a review, 384 tokens in all; a Bi-LSTM its first 400 words, "
        "DistilBERT its first 384 tokens, TinyBERT its first 256.",
    ],
)

SMALL_TEACHER = "The teacher, m3e-small-zh, has 24M parameters"
CHINESE_TEACHER = f"{SMALL_TEACHER}; the published one, BERT-base or larger, has 102M or more."
THE_THREE = (
    "Three teachers are three of these that differ by their seed; the mean of their logits taught. `× teacher` of that "
    "line is against the three of them. It differs from the lines above in its student and its copies too, so what the "
    "three alone bring is not told; its settings were picked by trials on dev, six of them on TNEWS's fifteen classes."
)
MORE_WORDS = (
    "The line with 100,000 words has the settings of the one above for teachers and copies, and a Bi-LSTM as wide. "
    "Words seen once are among its words, their vectors are cut down to 128 numbers, and it learns the teachers' "
    "probabilities in place of their logits: the best of six trials on dev of the fifteen classes. Its own student "
    "alone is weak with so many words: see the gain over the best one alone."
)
CLEANED = (
    "Of the shopping reviews, rows that are, nearly are, or begin like a row of dev were kept out. Their labels were "
    "not read."
)
CHNSENTICORP = Table(
    name="chnsenticorp",
    title="ChnSentiCorp, the usual split",
    lines=[
        Line("rows", "chnsenticorp", "logits, on the same rows"),
        Line("tang", "chnsenticorp-tang", "Tang: copies of the rows", ["augmentation.copies=10"]),
        Line("text", "chnsenticorp-text", "+ shopping reviews"),
        Line("three", "chnsenticorp-three", "+ shopping reviews, copies, three teachers", differs=THE_THREE),
    ],
    published=[
        Published(PADDLE, "dev", "README", "95.2–95.5", "92.0", "93.3–93.4", "377M and more", best=93.42),
    ],
    differs=[
        CHINESE_TEACHER,
        "More than a quarter of dev's rows stand in train here, as in the published table.",
        CLEANED,
    ],
)
NOLEAK = Table(
    name="chnsenticorp-noleak",
    title="ChnSentiCorp without its leak",
    lines=[
        Line("rows", "chnsenticorp-noleak", "logits, on the same rows"),
        Line("tang", "chnsenticorp-noleak-tang", "Tang: copies of the rows", ["augmentation.copies=10"]),
        Line("text", "chnsenticorp-noleak-text", "+ shopping reviews"),
        Line("three", "chnsenticorp-noleak-three", "+ shopping reviews, copies, three teachers", differs=THE_THREE),
    ],
    differs=[
        f"{SMALL_TEACHER}.",
        "Training rows that stand in dev or test were removed; nobody publishes that.",
        CLEANED,
    ],
    aim=2.5,
)

TNEWS_LEAK = "Training rows that stand in dev were removed, about one in twenty; the published numbers are with them."
TNEWS_5 = Table(
    name="tnews-5",
    title="TNEWS, five classes",
    lines=[
        Line("rows", "tnews-5", "logits, on the same rows"),
        Line("text", "tnews-5-text", "+ headlines without labels"),
        Line("three", "tnews-5-three", "+ headlines, copies, three teachers", differs=THE_THREE),
        Line("words", "tnews-5-words", "+ headlines, copies, three teachers, 100,000 words", differs=MORE_WORDS),
    ],
    published=[
        Published(
            "HoyTta0/KnowledgeDistillation",
            "dev",
            "its README",
            "80.8",
            "75.6",
            "74.3, below alone",
            faster="746×, CPU",
            best=74.34,
            point=("HoyTta0", 746, 74.3),
        )
    ],
    differs=[
        CHINESE_TEACHER,
        TNEWS_LEAK,
        "The published table does not say which rows it took; ours are all of the five classes.",
    ],
    has_classes=True,
    aim=2.0,
)
TNEWS_15 = Table(
    name="tnews-15",
    title="TNEWS, fifteen classes",
    lines=[
        Line("rows", "tnews-15", "logits, on the same rows"),
        Line("text", "tnews-15-text", "+ headlines without labels"),
        Line("three", "tnews-15-three", "+ headlines, copies, three teachers", differs=THE_THREE),
        Line("words", "tnews-15-words", "+ headlines, copies, three teachers, 100,000 words", differs=MORE_WORDS),
    ],
    published=[
        Published("BERT-base", "dev", "PaddleNLP's READMEs", teacher="56.8–57.1", parameters="102M"),
        Published("TinyBERT-4, Chinese", "dev", "PaddleNLP's READMEs", distilled="54.0", parameters="11M"),
        Published("ERNIE 3.0 Nano", "dev", "PaddleNLP's READMEs", distilled="54.6", parameters="18M"),
    ],
    differs=[CHINESE_TEACHER, TNEWS_LEAK, "No recurrent student of all fifteen classes is published."],
    has_classes=True,
    aim=2.0,
)

SEEN_QUORA = (
    "all-mpnet-base-v2 was trained by its makers on a billion pairs of sentences, duplicate questions of Quora among "
    "them: the teacher may have seen pairs of this dev before. The student alone has not."
)
SEEN_CHINESE = (
    "m3e-small-zh was trained by its makers on 22 million Chinese pairs; whether pairs of AFQMC are among them is not "
    "known to us."
)
PAIRS = "No unlabelled pairs were added: the student learns from new pairs of the training texts and changed copies."
QQP = Table(
    name="qqp",
    title="QQP, 10,000 pairs",
    lines=[Line("pairs", "qqp-pairs", "new pairs and copies")],
    published=[
        Published(
            f"{PADDLE}, all of QQP",
            "dev, accuracy / F1",
            "README",
            "90.6 / 87.3",
            "85.7 / 80.0",
            "87.5 / 83.1",
        ),
        Published(
            "Tang et al. 2019, all of QQP", "test", "arXiv:1903.12136", "89.3 / 72.1", "86.2 / 63.7", "88.1 / 68.2"
        ),
    ],
    differs=[
        "The published tables train on all 364,000 pairs, ours on 8,000 of a balanced part, judged on 2,000 more: the "
        "numbers do not compare, the gains may.",
        SEEN_QUORA,
        PAIRS,
    ],
    aim=2.0,
)
MRPC = Table(
    name="mrpc",
    title="MRPC",
    lines=[Line("pairs", "mrpc-mpnet", "new pairs and copies")],
    differs=[PAIRS],
    aim=2.0,
)
AFQMC = Table(
    name="afqmc",
    title="AFQMC",
    lines=[
        Line("pairs", "afqmc-pairs", "new pairs and copies"),
        Line(
            "three",
            "afqmc-three",
            "new pairs and copies, three teachers",
            differs="Three teachers are three of these that differ by their seed; the mean of their logits taught. "
            "That line has a wider student too.",
        ),
    ],
    differs=[
        f"{SMALL_TEACHER}. It reads each question by itself, which trials on dev had found better than both at once.",
        "69.0 % of dev's pairs are different: a student alone learns little more than to call all of them so.",
        SEEN_CHINESE,
        PAIRS,
    ],
    aim=2.0,
)

TABLES = {table.name: table for table in (SST2, IMDB, CHNSENTICORP, NOLEAK, TNEWS_5, TNEWS_15, QQP, MRPC, AFQMC)}


def command_of(recipe: str, overrides: Sequence[str]) -> str:
    """What a user types to get the line; folders of checkpoints by their last name, which LIMBECK_DATA leads to."""
    key = "teacher.checkpoint="
    shown = [f"{key}{Path(one.removeprefix(key)).name}" if one.startswith(f"{key}/") else one for one in overrides]
    return shlex.join(["limbeck", "run", recipe, *(part for one in shown for part in ("--set", one))])
