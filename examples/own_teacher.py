"""A teacher of your own, here a pipeline of scikit-learn; a function from texts to probabilities would do as well.

python examples/own_teacher.py
"""

import csv
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import limbeck

DATA = Path(__file__).parent / "data"


def main() -> None:
    """The teacher labels texts that nobody has labelled, and the student learns from its answers."""
    with (DATA / "tickets.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts, labels = [row["text"] for row in rows], [row["label"] for row in rows]
    teacher = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=30))

    student = limbeck.LimbeckClassifier(
        teacher=teacher,
        transfer=(DATA / "unlabelled.txt").read_text(encoding="utf-8").splitlines(),
        student="ngrams",
        settings={"distillation.epochs": 4},  # to be quick
    ).fit(texts[:90], labels[:90])

    print(f"accuracy on {len(texts[90:])} other rows: {student.score(texts[90:], labels[90:]):.2f}")
    print(student.model_)


if __name__ == "__main__":
    main()
