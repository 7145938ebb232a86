"""From a CSV file to a model and its report: the same as `limbeck run tickets.csv`.

python examples/own_csv.py
"""

from pathlib import Path

import limbeck

DATA = Path(__file__).parent / "data"
QUICK = [  # without these a sentence encoder is fine-tuned as the teacher, which takes minutes and teaches more
    'teacher.kind="linear"',
    'student.kind="ngrams"',
    "distillation.epochs=4",
    "distillation.baseline=false",
]


def main() -> None:
    """Train, then use what was trained."""
    run = limbeck.run(
        DATA / "tickets.csv", transfer=[DATA / "unlabelled.txt"], overrides=QUICK, out=Path("runs/tickets").resolve()
    )
    model = limbeck.load(run.models["best"])
    texts = ["The kettle does not switch on", "Refund my payment, please", "Where is my parcel?"]
    for text, label, probabilities in zip(texts, model.predict(texts), model.predict_proba(texts), strict=True):
        print(f"{label:<10} {probabilities.max():.2f}  {text}")
    print(f"{model}\nThe report: {run.folder / 'report' / 'report.html'}")


if __name__ == "__main__":
    main()
