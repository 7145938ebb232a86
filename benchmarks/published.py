"""What others report of the data sets of docs/results.md, and what has to be known of their numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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


PADDLE, PADDLE_README = "PaddleNLP, distill_lstm", "README of its example distill_lstm"
PROJECT, PROJECT_TABLE = "a BERT → Bi-LSTM project with FT and SPKD", "its table"
GANESH = "Ganesh et al. 2021, arXiv:2002.11985"
XTREME = "README of microsoft/xtreme-distil-transformers"
CLUE_READMES = "PaddleNLP's READMEs of its Chinese models"

SST2 = [
    Published(PADDLE, "dev", PADDLE_README, "93.0", "85.4", "88.8", "9M and more", best=88.76),
    Published(
        PROJECT,
        "dev",
        PROJECT_TABLE,
        "91.5",
        "85.8",
        "Tang 88.3, FT 86.2, SPKD 89.0",
        "23M",
        "18× BERT",
        best=89.0,
        point=("SPKD, published", 18, 89.0),
        by_line={"tang": 88.3, "factor-transfer": 86.2, "spkd": 89.0},
    ),
    Published(
        f"{PROJECT}: TinyBERT",
        "dev",
        PROJECT_TABLE,
        "91.5",
        distilled="90.9",
        parameters="68M",
        faster="2× BERT",
        by_line={"tinybert": 90.9},
    ),
    Published(
        "Intel Neural Compressor, 2-layer Bi-LSTM",
        "dev",
        "its validated_model_list.md",
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
        by_line={"tang": 90.7},
    ),
    Published(
        "MKD-LSTM (Liu et al. 2019)",
        "test",
        f"arXiv:1911.03588, by {GANESH}",
        distilled="91.0",
        parameters="24 % of BERT-base",
        faster="8.6× BERT-base, CPU",
        point=("MKD-LSTM", 8.6, 91.0),
    ),
    Published(
        "AdaBERT (convolutions)",
        "test",
        GANESH,
        distilled="91.8",
        parameters="7 % of BERT-base",
        faster="19.5×",
        point=("AdaBERT", 19.5, 91.8),
    ),
    Published(
        "DistilBERT",
        "dev",
        "README of its code, in Hugging Face's transformers",
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
        f"arXiv:1909.10351, by {GANESH}",
        "93.5",
        distilled="92.6",
        parameters="14.5M",
        faster="9.4×",
        point=("TinyBERT-4", 9.4, 92.6),
        by_line={"tinybert": 92.6},
    ),
    Published(
        "MiniLM, 6 layers of 384",
        "dev",
        XTREME,
        distilled="91.3",
        parameters="22M",
        faster="5.3×",
        point=("MiniLM-6", 5.3, 91.3),
    ),
    Published("MiniLM, 6 layers of 768", "dev", XTREME, distilled="92.0", parameters="66M", faster="2×"),
    Published(
        "XtremeDistil, 6 layers of 256",
        "dev",
        XTREME,
        distilled="91.2",
        parameters="13M",
        faster="8.7×",
        point=("XtremeDistil-256", 8.7, 91.2),
    ),
    Published(
        "XtremeDistil, 6 layers of 384",
        "dev",
        XTREME,
        distilled="92.3",
        parameters="22M",
        faster="5.3×",
        point=("XtremeDistil-384", 5.3, 92.3),
    ),
    Published(
        "XtremeDistil, 12 layers of 384",
        "dev",
        XTREME,
        distilled="93.1",
        parameters="33M",
        faster="2.7×",
        point=("XtremeDistil-12", 2.7, 93.1),
    ),
]

IMDB = [
    Published(
        PROJECT,
        "test",
        PROJECT_TABLE,
        "92.0",
        "86.9",
        "Tang 89.3, FT 87.1, SPKD 89.7",
        "23M",
        "18× BERT",
        best=89.7,
        point=("SPKD, published", 18, 89.7),
        by_line={"tang": 89.3, "factor-transfer": 87.1, "spkd": 89.7},
    ),
    Published(
        f"{PROJECT}: TinyBERT",
        "test",
        PROJECT_TABLE,
        "92.0",
        distilled="90.7",
        parameters="68M",
        faster="2× BERT",
        by_line={"tinybert": 90.7},
    ),
    Published(
        "DistilBERT",
        "test",
        "arXiv:1910.01108",
        "93.5",
        distilled="92.8",
        parameters="66M",
        faster="1.6×, CPU",
        point=("DistilBERT", 1.6, 92.8),
        by_line={"distilbert": 92.8},
    ),
]

CHNSENTICORP = [
    Published(PADDLE, "dev", PADDLE_README, "95.2–95.5", "92.0", "93.3–93.4", "377M and more", best=93.42),
]

TNEWS_5 = [
    Published("HoyTta0/KnowledgeDistillation", "dev", "its README", "80.8", "75.6", "74.3, below alone", best=74.34),
]
OF_HOYTTA0 = (
    "HoyTta0's student is a Bi-LSTM over one vector a sentence, the mean of its words' vectors: its author lists that "
    "as a fault to be fixed. Its training rows were fewer, by an unknown amount; its 2,810 judged rows have the "
    "classes of ours, one for one. The 746× it reports are of another data set with two classes, and not shown."
)

TNEWS_15 = [
    Published("BERT-base", "dev", CLUE_READMES, teacher="56.8–57.1", parameters="102M"),
    Published("TinyBERT-4, Chinese", "dev", CLUE_READMES, distilled="54.0", parameters="11M"),
    Published("ERNIE 3.0 Nano", "dev", CLUE_READMES, distilled="54.6", parameters="18M"),
]

QQP = [
    Published(
        f"{PADDLE}, all of QQP", "dev, accuracy / F1", PADDLE_README, "90.6 / 87.3", "85.7 / 80.0", "87.5 / 83.1"
    ),
    Published("Tang et al. 2019, all of QQP", "test", "arXiv:1903.12136", "89.3 / 72.1", "86.2 / 63.7", "88.1 / 68.2"),
]
