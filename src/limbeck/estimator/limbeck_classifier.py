"""An estimator of scikit-learn that trains as `limbeck run` does: a teacher, a student, a model that needs no torch."""

import tempfile
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from limbeck.artifacts.run_folder import Run
from limbeck.drafting.frames import keep_frame
from limbeck.drafting.run import draft_for
from limbeck.estimator.fit_rows import FitRows, columns_of_rows, fit_rows, transfer_of
from limbeck.estimator.given_teacher import GivenTeacher, given_teacher
from limbeck.pipeline.flow import run
from limbeck.progress import SilentReporter, TerminalReporter
from limbeck.recipe.toml import inline
from limbeck.runtime.classifier import Classifier, load

# What nobody sees who asks for predictions: times in many batches, a teacher that is timed, a student that is compared.
LIGHT = {
    "distillation.baseline": False,
    "evaluation.bootstrap_samples": 100,
    "evaluation.latency_rounds": 1,
    "evaluation.latency_rows": 10,
    "evaluation.throughput_batches": [],
    "evaluation.throughput_rows": 32,
    "evaluation.teacher_int8": False,
    "evaluation.rival": False,
}


class LimbeckClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A text classifier with the habits of scikit-learn, trained by the same road as `limbeck run`.

    X are texts, or pairs of texts, in a list, an array, or a column or table of pandas, Polars or Arrow; y are their
    classes, of any type; or of several labels a row a column of 0 and 1 for each class (with the names of a table's
    columns, else by number), which `predict` returns as well. After `fit`, `model_` is the exported model
    (`limbeck.Classifier`), `run_` its run, and `report_` the report on rows of dev. A fitted estimator pickles with its
    model.

    - teacher: None, what a draft would choose; "linear"; the name or folder of a Hugging Face checkpoint; a dict, the
      keys of `[teacher]`; or an object with `predict_proba` (an estimator that is not frozen is fitted as a copy on the
      same rows), or a function from texts to probabilities in the order of `classes_`.
    - transfer: texts without labels, in a list or a column; or the path of a file, or a list of paths.
    - student: its kind, such as "bilstm" or "ngrams"; None, what a draft would choose.
    - recipe: in place of a draft, a recipe's path or a built-in name; its [corpus] is replaced by the rows of `fit`.
    - settings: more keys of the recipe by their paths: {"distillation.epochs": 3}.
    - minutes: about how long `fit` may take; None, what the recipe says.
    - folder: where runs are kept: the same fit is done once, a teacher's labels serve all fits. None: nowhere.
    - random_state: seed of student and split, an int.
    - threads, engine: as for `limbeck.load`. verbose: 1 shows what the run reports.
    """

    def __init__(
        self,
        *,
        teacher: Any = None,
        transfer: Any = None,
        student: str | None = None,
        recipe: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        minutes: float | None = None,
        folder: str | Path | None = None,
        random_state: int | None = None,
        threads: int | None = None,
        engine: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.teacher = teacher
        self.transfer = transfer
        self.student = student
        self.recipe = recipe
        self.settings = settings
        self.minutes = minutes
        self.folder = folder
        self.random_state = random_state
        self.threads = threads
        self.engine = engine
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Train, distil and export. Raises ValueError for unusable y, and a LimbeckError for what a run refuses."""
        rows = fit_rows(X, y)
        classes, is_kept = rows.classes, self.folder is not None
        with tempfile.TemporaryDirectory(prefix="limbeck-fit-") as scratch:
            place = Path(self.folder if self.folder is not None else scratch).resolve()
            done = self._run(rows, folder=place)
            best = load(done.models["best"], threads=self.threads, engine=self.engine)  # type: ignore[call-overload]
            self.model_: Classifier = best if is_kept else best.portable()
            self.report_ = done.report
        self.run_ = done if is_kept else None
        self.classes_ = classes
        self.multilabel_ = rows.is_multi_label
        self._places = [self.model_.labels.index(name) for name in rows.names]
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """(rows, classes): calibrated probabilities, in the order of `classes_`; of several labels, each by itself."""
        check_is_fitted(self)
        found = np.asarray(self.model_.predict_proba(_predicted(X)), dtype=np.float64)[:, self._places]
        return found if self.multilabel_ else np.asarray(found / found.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; of several labels, (rows, classes) with 1 for those that it has."""
        check_is_fitted(self)
        if self.multilabel_:
            names = np.asarray(self.model_.labels)[self._places].tolist()
            found = self.model_.predict(_predicted(X))
            return np.array([[int(name in labels) for name in names] for labels in found]).reshape(-1, len(names))
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _run(self, rows: FitRows, *, folder: Path) -> Run:
        files, texts = transfer_of(self.transfer, is_pair=rows.is_pair)
        teacher = given_teacher(
            self.teacher,
            texts=rows.rows,
            y=rows.targets,
            classes=np.arange(len(rows.classes)) if rows.is_multi_label else rows.classes,
            names=rows.names,
        )
        tables = {"rows": pa.table(rows.columns()), **({"more": pa.table(columns_of_rows(texts))} if texts else {})}
        own = folder / f"fit-{self._digest(tables, files)}"
        kept = {name: keep_frame(table, name=name, folder=own) for name, table in tables.items()}
        overrides = self._overrides(rows, teacher, train=kept["rows"])
        text_files = [*[file.resolve() for file in files], *([kept["more"]] if texts else [])]
        if self.recipe is not None:
            recipe: str | Path = self.recipe
            more = [f"transfer.files={inline([str(file) for file in text_files])}"] if text_files else []
            overrides = [*more, *overrides]
        else:
            draft = draft_for(
                kept["rows"],
                recipe=own / "recipe.toml",
                transfer=text_files,
                text="text",
                pair="pair" if rows.is_pair else None,
                label="label",
                teacher=teacher.drafted,
            )
            draft.write()
            recipe = draft.recipe
        reporter = TerminalReporter() if self.verbose else SilentReporter()
        with teacher.answers:
            return run(
                recipe,
                overrides=overrides,
                out=folder / own.name.replace("fit-", "run-"),
                reporter=reporter,
                minutes=self.minutes,
                allow_custom_code=teacher.is_custom,
            )

    def _overrides(self, rows: FitRows, teacher: GivenTeacher, *, train: Path) -> list[str]:
        settings: dict[str, Any] = dict(LIGHT)
        if self.recipe is not None:
            corpus = {"train": str(train), "text": "text", "label": "label"}
            settings["corpus"] = {**corpus, "pair": "pair"} if rows.is_pair else corpus
        settings["corpus.multi_label"] = rows.is_multi_label
        if self.random_state is not None:
            settings |= {"distillation.seeds": [self.random_state], "corpus.split_seed": self.random_state}
        kind = [f"student.kind={inline(self.student)}"] if self.student is not None else []
        own = dict(self.settings or {})
        return [*teacher.overrides, *kind, *(f"{path}={inline(value)}" for path, value in {**settings, **own}.items())]

    def _digest(self, tables: Mapping[str, pa.Table], files: list[Path]) -> str:
        """A name for this fit: another one for other rows or other parameters, whatever its threads."""
        named = {name: value for name, value in self.get_params(deep=False).items() if name not in NOT_NAMED}
        digest = blake2b(repr((sorted(named.items()), [str(file.resolve()) for file in files])).encode(), digest_size=8)
        for name, table in tables.items():
            digest.update(repr((name, table.to_pydict())).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.target_tags.two_d_labels = False
        tags.classifier_tags.multi_label = True
        return tags


NOT_NAMED = {"transfer", "folder", "threads", "engine", "verbose", "minutes"}  # by content, or they change no model


def _predicted(X: Any) -> Any:
    """An array of one column, as transformers of scikit-learn give it, is that column."""
    is_column = type(X).__module__ == "numpy" and X.ndim == 2 and X.shape[1] == 1
    return X[:, 0] if is_column else X
