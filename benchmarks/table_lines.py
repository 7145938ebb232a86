"""The tables of docs/results.md: which recipe each line runs, and what differs from what others published."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import published
from benchmarks.published import Published

# MPNet's layers, which DistilBERT's family would take over without their bias by distance.
OF_THE_TEACHER = "student.family=teacher"
BIG_BATCH = "distillation.batch_size=512"
TRANSFORMER_BATCH = "distillation.batch_size=128"
OF_NO_GENERAL_TEXT = (
    "TinyBERT and DistilBERT have the shapes and losses of their papers (DistilBERT labels in place of masked words), "
    "and parts of this teacher to start from: the one its embeddings, the other six of its twelve layers as well, "
    "which are MPNet's. Their students alone start from the same parts of it as it was before its fine-tuning. The "
    "published ones were distilled on general text first, and TinyBERT for 10 epochs on its layers where the command "
    "says 3."
)
TANG = (
    "Tang's student is read off its last states and has a second channel of frozen vectors, as published; "
    "vectors are the teacher's and GloVe's in place of word2vec's, and AdamW trains it in place of AdaDelta"
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
class Table:
    """A data set's lines, in the order of the page."""

    name: str
    title: str
    lines: Sequence[Line]
    published: Sequence[Published] = ()
    differs: Sequence[str] = ()
    has_classes: bool = False  # whether the page tells the classes one by one
    aim: float | None = None  # points over the student alone that we set out for


MPNET_SAW = (
    "all-mpnet-base-v2 was trained by its makers on a billion pairs of sentences: questions and answers, comments, "
    "captions, titles and abstracts, inference. Their list does not name {}."
)
M3E_SAW = (
    "m3e-small-zh is moka-ai/m3e-small, which its makers trained on 22 million Chinese pairs. Their list has reviews "
    "of products, news, and collections of many tasks; it does not name {}, and whether a collection holds some of it "
    "is not known to us."
)

SST2 = Table(
    name="sst2",
    title="SST-2",
    lines=[
        Line("rows", "sst2", "logits, on the same rows"),
        Line("kd", "sst2-kd", "Hinton's KD"),
        Line(
            "tang",
            "sst2-tang",
            "Tang's student, copies of the rows",
            [BIG_BATCH],
            differs=f"{TANG}. With the student of the other lines the same copies do better.",
        ),
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
    published=published.SST2,
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
        Line(
            "tang",
            "imdb-tang",
            "Tang's student, copies of the rows",
            ["augmentation.copies=4"],
            differs=f"{TANG}; there are 4 copies of a review where Tang has 20 of a sentence.",
        ),
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
    published=published.IMDB,
    differs=[
        MPNET_SAW.format("IMDB"),
        "Dev is 10,000 rows of the official test set, and chose the epoch; training rows that appear in it were "
        "removed.",
        "The teacher reads the beginning and the end of a review, 384 tokens in all; a Bi-LSTM its first 400 words, "
        "DistilBERT its first 384 tokens, TinyBERT its first 256.",
    ],
)

SMALL_TEACHER = "The teacher, m3e-small-zh, has 24M parameters"
CHINESE_TEACHER = f"{SMALL_TEACHER}; the published one, BERT-base or larger, has 102M or more."
THE_THREE = (
    "Three teachers are three of these that differ by their seed; the mean of their logits taught. `× teacher` of that "
    "line is against the three of them. It differs from the lines above in its student and its copies too, so the "
    "gain of the three alone is not known; its settings were chosen by trials on dev, six of them on TNEWS's fifteen "
    "classes."
)
MORE_WORDS = (
    "The line with 100,000 words has the settings of the one above for teachers and copies, and a Bi-LSTM as wide. "
    "Words seen once are among its words, their vectors are cut down to 128 numbers, and it learns the teachers' "
    "probabilities in place of their logits: the best of six trials on dev of the fifteen classes. Its own student "
    "alone is weak with so many words: see the gain over the best one alone."
)
CLEANED = (
    "Of the shopping reviews, rows that are, nearly are, or begin like a row of dev were kept out, as those of test "
    "are where a recipe names one (`--set corpus.test=FILE`); these recipes do not. Their labels were not read."
)
CHNSENTICORP = Table(
    name="chnsenticorp",
    title="ChnSentiCorp, the usual split",
    lines=[
        Line("rows", "chnsenticorp", "logits, on the same rows"),
        Line("tang", "chnsenticorp-tang", "Tang's student, copies of the rows", ["augmentation.copies=10"]),
        Line("text", "chnsenticorp-text", "+ shopping reviews"),
        Line("three", "chnsenticorp-three", "+ shopping reviews, copies, three teachers", differs=THE_THREE),
    ],
    published=published.CHNSENTICORP,
    differs=[
        CHINESE_TEACHER,
        M3E_SAW.format("ChnSentiCorp"),
        "More than a quarter of dev's rows appear in train here, as in the published table.",
        CLEANED,
    ],
)
NOLEAK = Table(
    name="chnsenticorp-noleak",
    title="ChnSentiCorp without its leak",
    lines=[
        Line("rows", "chnsenticorp-noleak", "logits, on the same rows"),
        Line("tang", "chnsenticorp-noleak-tang", "Tang's student, copies of the rows", ["augmentation.copies=10"]),
        Line("text", "chnsenticorp-noleak-text", "+ shopping reviews"),
        Line("three", "chnsenticorp-noleak-three", "+ shopping reviews, copies, three teachers", differs=THE_THREE),
    ],
    differs=[
        f"{SMALL_TEACHER}.",
        M3E_SAW.format("ChnSentiCorp"),
        "Training rows that appear in dev or test were removed; there are no published numbers for that.",
        CLEANED,
    ],
    aim=2.5,
)

TNEWS_LEAK = "Training rows that appear in dev were removed, about one in twenty; the published numbers are with them."
TNEWS_5 = Table(
    name="tnews-5",
    title="TNEWS, five classes",
    lines=[
        Line("rows", "tnews-5", "logits, on the same rows"),
        Line("text", "tnews-5-text", "+ headlines without labels"),
        Line("three", "tnews-5-three", "+ headlines, copies, three teachers", differs=THE_THREE),
        Line("words", "tnews-5-words", "+ headlines, copies, three teachers, 100,000 words", differs=MORE_WORDS),
    ],
    published=published.TNEWS_5,
    differs=[
        CHINESE_TEACHER,
        M3E_SAW.format("TNEWS"),
        TNEWS_LEAK,
        published.OF_HOYTTA0,
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
    published=published.TNEWS_15,
    differs=[
        CHINESE_TEACHER,
        M3E_SAW.format("TNEWS"),
        TNEWS_LEAK,
        "No recurrent student of all fifteen classes is published.",
    ],
    has_classes=True,
    aim=2.0,
)

SEEN_QUORA = (
    "all-mpnet-base-v2 was trained by its makers on a billion pairs of sentences, duplicate questions of Quora among "
    "them: the teacher may have seen pairs of this dev before. The student alone has not."
)
SEEN_CHINESE = (
    "m3e-small-zh is moka-ai/m3e-small, which its makers trained on 22 million Chinese pairs, SimCLUE among them, "
    "which merges most open Chinese sets of similar sentences: the teacher may have seen pairs of AFQMC's dev there, "
    "as similar ones. The student alone has not."
)
PAIRS = "No unlabelled pairs were added: the student learns from new pairs of the training texts and changed copies."
BESIDE_OTHERS = (
    "Of attending students the times were taken while other trainings ran on the machine, and for ten texts alone: "
    "they do not compare with the other times."
)
QQP = Table(
    name="qqp",
    title="QQP, 10,000 pairs",
    lines=[
        Line("pairs", "qqp-pairs", "new pairs and copies"),
        Line("attend", "qqp-attend", "new pairs and copies, attending"),
    ],
    published=published.QQP,
    differs=[
        "The published tables train on all 364,000 pairs, ours on 8,000 of a balanced part, judged on 2,000 more: the "
        "numbers do not compare, the gains may.",
        SEEN_QUORA,
        PAIRS,
        BESIDE_OTHERS,
    ],
    aim=2.0,
)
MRPC = Table(
    name="mrpc",
    title="MRPC",
    lines=[
        Line("pairs", "mrpc-mpnet", "new pairs and copies"),
        Line("attend", "mrpc-attend", "new pairs and copies, attending"),
    ],
    differs=[MPNET_SAW.format("MRPC"), PAIRS, BESIDE_OTHERS],
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
        Line("attend", "afqmc-attend", "new pairs and copies, attending"),
    ],
    differs=[
        f"{SMALL_TEACHER}. It reads each question by itself, which trials on dev had found better than both at once.",
        "69.0 % of dev's pairs are different: a student alone learns little more than to call all of them so.",
        SEEN_CHINESE,
        PAIRS,
        BESIDE_OTHERS,
    ],
    aim=2.0,
)

RTE = Table(
    name="rte",
    title="RTE",
    lines=[
        Line("pairs", "rte-pairs", "new pairs and copies"),
        Line("attend", "rte-attend", "new pairs and copies, attending"),
    ],
    differs=[MPNET_SAW.format("RTE"), PAIRS, BESIDE_OTHERS.replace("Of attending students the", "The")],
    aim=2.0,
)

EVERY = (SST2, IMDB, CHNSENTICORP, NOLEAK, TNEWS_5, TNEWS_15, QQP, MRPC, AFQMC, RTE)
TABLES = {table.name: table for table in EVERY}


def command_of(recipe: str, overrides: Sequence[str]) -> str:
    """What a user types to get the line; folders of checkpoints by their last name, which LIMBECK_DATA leads to."""
    key = "teacher.checkpoint="
    shown = [f"{key}{Path(one.removeprefix(key)).name}" if one.startswith(f"{key}/") else one for one in overrides]
    return shlex.join(["limbeck", "run", recipe, *(part for one in shown for part in ("--set", one))])
