"""Chinese reviews: words are cut by jieba, and n-grams of characters need no words at all.

python examples/chinese.py
"""

from pathlib import Path

import limbeck

DATA = Path(__file__).parent / "data"
QUICK = [  # a real run leaves these out
    'teacher.kind="linear"',
    "student.hidden_size=32",
    "distillation.epochs=4",
    "distillation.baseline=false",
    'augmentation={copies = 1, methods = [{kind = "masking"}]}',
]


def main() -> None:
    """Two students, of words and of n-grams; the better one on dev, or both together, is `best`."""
    run = limbeck.run(DATA / "reviews-zh.csv", overrides=QUICK, out=Path("runs/reviews-zh").resolve())
    model = limbeck.load(run.models["best"])
    (found,) = model.explain(["键盘质量不错，就是有点吵"])
    print(model.facts.language, found.label, [(piece, round(moved, 2)) for piece, moved in found.pieces])
    print(model.predict(["风扇太吵了，要退货", "手表很漂亮，推荐"]))


if __name__ == "__main__":
    main()
