"""The table of teacher kinds: a row names everything a kind gives, from its recipe section to the doctor's advice.

All code that distinguishes kinds uses this table. What a recipe has to know when it is loaded, without PyTorch, are the
`traits` of the section's class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Generic, TypeVar

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.no_teacher import NoTeacher
from limbeck.recipe.teacher import (
    AnyTeacher,
    CustomTeacher,
    EncoderTeacher,
    EnsembleTeacher,
    FileTeacher,
    LinearTeacher,
    StudentTeacher,
)
from limbeck.recipe.traits import TeacherTraits
from limbeck.teacher import (
    answers_file,
    custom,
    encoder_teacher,
    endpoint,
    ensemble,
    linear,
    no_teacher,
    student_teacher,
)
from limbeck.teacher.loading import open_teacher
from limbeck.teacher.preparation import BeforeRun, OpenTeacher, Preparation, ReadyTeacher
from limbeck.teacher.student_asking import open_student_teacher
from limbeck.teacher.student_source import find_student

Section = TypeVar("Section", bound=AnyTeacher)


@dataclass(frozen=True)
class TeacherAdvice:
    """Texts for the user about a teacher of this kind."""

    guessing: str
    """Likely reasons why it is hardly better on dev than guessing."""
    when_guessing: str
    """What to do then."""
    when_swapped: str
    """What to do if its classes are in another order than the corpus's."""
    better: str
    """What would be a better teacher."""
    cost_unknown: str
    """Why it has no size and no speed in the report, after "it is"; empty if it has both."""


@dataclass(frozen=True)
class TeacherKind(Generic[Section]):
    """Everything that a kind of teacher provides."""

    section: type[Section]
    """Its table in the recipe; what it has in addition to logits is there as `traits`."""
    prepare: Callable[[Section, Preparation], TeacherFolder]
    """The stage for this kind: writes the teacher's folder, and evaluates it on dev."""
    open: Callable[[TeacherFolder], OpenTeacher]
    """The prepared teacher, opened for inference."""
    inputs: Callable[[Section], dict[str, str]]
    """The fingerprints of its inputs other than the corpus."""
    name: Callable[[Section], str]
    """The name of a member of an ensemble."""
    report_name: Callable[[TeacherFacts], str]
    """Its name in the report and the model cards."""
    is_fine_tuned: Callable[[Section], bool]
    """Whether it is trained on the corpus."""
    problems: Callable[[Section], list[str]]
    """Problems of the section that can be found before anything is read: "key: problem"."""
    ready: Callable[[Section, BeforeRun], ReadyTeacher | None]
    """For the doctor: the teacher before a run, opened; None if it still has to be trained, or is an ensemble."""
    parameters: Callable[[Section, BeforeRun], int | None]
    """For the doctor: its number of parameters; None if unknown."""
    rates: Callable[[Section, Corpus, Rows, Rows], tuple[float, float] | None]
    """Rows per second of its training on the first rows, and of labelling the second; None if it is not trained, or not
    alone."""
    advice: TeacherAdvice

    @property
    def traits(self) -> TeacherTraits:
        """What it has in addition to logits."""
        return self.section.traits


ENCODER = TeacherKind(
    section=EncoderTeacher,
    prepare=encoder_teacher.prepare_encoder,
    open=open_teacher,
    inputs=encoder_teacher.encoder_inputs,
    name=lambda section: Path(section.checkpoint).name,
    report_name=lambda facts: _last_part(facts.name),
    is_fine_tuned=lambda section: section.train != "none",
    problems=lambda _: [],
    ready=encoder_teacher.ready_encoder,
    parameters=encoder_teacher.encoder_parameters,
    rates=encoder_teacher.encoder_rates,
    advice=TeacherAdvice(
        guessing="likely reasons: an encoder that was never fine-tuned, classes in another order than the corpus's, "
        "too high a learning rate, too few steps",
        when_guessing="Fine-tune it (train), longer (epochs) or with a lower learning_rate; if it is used without "
        "training, check label_names.",
        when_swapped="Say which class is which: label_names in [teacher].",
        better="a larger checkpoint",
        cost_unknown="",
    ),
)
FILE = TeacherKind(
    section=FileTeacher,
    prepare=answers_file.read_file_teacher,
    open=answers_file.open_answers,
    inputs=answers_file.file_inputs,
    name=lambda section: section.name or Path(section.path).stem,
    report_name=lambda facts: _last_part(facts.name),
    is_fine_tuned=lambda _: False,
    problems=lambda _: [],
    ready=answers_file.ready_file,
    parameters=lambda *_: None,
    rates=lambda *_: None,
    advice=TeacherAdvice(
        guessing="likely reasons: columns under the names of other classes, numbers that belong to other texts",
        when_guessing="Check that each class has its own column (columns), and that the file was made for these texts.",
        when_swapped="Say which class is which: columns in [teacher].",
        better="the answers of a stronger model",
        cost_unknown="a file of them",
    ),
)
STUDENT = TeacherKind(
    section=StudentTeacher,
    prepare=student_teacher.prepare_student_teacher,
    open=open_student_teacher,
    inputs=student_teacher.student_inputs,
    name=lambda section: find_student(section.path).name,
    report_name=lambda facts: facts.name,
    is_fine_tuned=lambda _: False,
    problems=lambda _: [],
    ready=student_teacher.ready_student,
    parameters=student_teacher.student_parameters,
    rates=lambda *_: None,
    advice=TeacherAdvice(
        guessing="likely reasons: a student of another task whose classes have the same names, or one that was not "
        "trained well",
        when_guessing="Look at the report of the run that trained it, and name a student that does well on this "
        "corpus.",
        when_swapped="Its classes were swapped when it was trained: look at the corpus of its run.",
        better="a larger student, or the teacher it was trained with",
        cost_unknown="",
    ),
)
CUSTOM = TeacherKind(
    section=CustomTeacher,
    prepare=custom.prepare_custom,
    open=custom.open_custom,
    inputs=custom.custom_inputs,
    name=lambda section: section.name or section.function_name,
    report_name=lambda facts: facts.name,
    is_fine_tuned=lambda _: False,
    problems=custom.custom_problems,
    ready=custom.ready_custom,
    parameters=lambda *_: None,
    rates=lambda *_: None,
    advice=TeacherAdvice(
        guessing="likely reasons: columns in another order than `labels`, answers in another order than the texts",
        when_guessing="Check that row i of its result is for text i, and column j for labels[j].",
        when_swapped="Return the columns in the order of `labels`, which the function is given.",
        better="a function that does better on dev",
        cost_unknown="a function of your own",
    ),
)
LINEAR = TeacherKind(
    section=LinearTeacher,
    prepare=linear.prepare_linear,
    open=linear.open_linear,
    inputs=lambda _: {},
    name=lambda section: section.kind,
    report_name=lambda facts: facts.name,
    is_fine_tuned=lambda _: True,
    problems=lambda _: [],
    ready=lambda *_: None,
    parameters=lambda *_: None,
    rates=linear.linear_rates,
    advice=TeacherAdvice(
        guessing="likely reasons: too few rows of some classes, labels that do not depend on the words of a text",
        when_guessing="Label more rows, or take an encoder as the teacher: checkpoint in [teacher].",
        when_swapped="It learned the classes from train: look at the labels of dev.",
        better="an encoder",
        cost_unknown="ten lines of scikit-learn, which are timed as tfidf",
    ),
)
ENDPOINT = TeacherKind(
    section=EndpointTeacher,
    prepare=endpoint.prepare_endpoint,
    open=endpoint.open_endpoint,
    inputs=lambda _: {},
    name=lambda section: section.shown_name,
    report_name=lambda facts: facts.name,
    is_fine_tuned=lambda _: False,
    problems=lambda _: [],  # its key is missed when something is asked: what it costs is known without
    ready=lambda *_: None,  # the doctor spends no money
    parameters=lambda *_: None,
    rates=lambda *_: None,
    advice=TeacherAdvice(
        guessing="likely reasons: class names that say too little, an instruction for another task, too small a model",
        when_guessing="Describe each class in a line (descriptions), say what the task is (instruction), show examples "
        "(examples_from_train), or take a larger model.",
        when_swapped="Say which class is which: descriptions in [teacher].",
        better="a larger model, or examples from train",
        cost_unknown="a language model behind an address",
    ),
)
ENSEMBLE = TeacherKind(
    section=EnsembleTeacher,
    prepare=ensemble.join_teachers,
    open=ensemble.refuse_to_open,
    inputs=lambda _: {},
    name=lambda section: section.kind,
    report_name=lambda facts: facts.name,
    is_fine_tuned=lambda _: False,
    problems=lambda _: [],
    ready=lambda *_: None,
    parameters=lambda *_: None,
    rates=lambda *_: None,
    advice=TeacherAdvice(
        guessing="likely reasons: a member that guesses, members whose classes are in another order",
        when_guessing="Look at the members' own numbers above, and remove the one that does not fit.",
        when_swapped="Say for each member which class is which, with the keys of its kind: label_names, columns.",
        better="larger members",
        cost_unknown="",
    ),
)
NO_TEACHER = TeacherKind(
    section=NoTeacher,
    prepare=no_teacher.prepare_nothing,
    open=no_teacher.refuse_to_ask,
    inputs=lambda _: {},
    name=lambda section: section.kind,
    report_name=lambda facts: facts.name,
    is_fine_tuned=lambda _: False,
    problems=lambda _: [],
    ready=lambda *_: None,
    parameters=lambda *_: None,
    rates=lambda *_: None,
    advice=TeacherAdvice(
        guessing="there is no teacher",
        when_guessing="Set a teacher: checkpoint in [teacher].",
        when_swapped="Look at the labels of the corpus.",
        better="any teacher",
        cost_unknown="no teacher at all",
    ),
)
KINDS: dict[str, TeacherKind[Any]] = {
    "encoder": ENCODER,
    "file": FILE,
    "student": STUDENT,
    "custom": CUSTOM,
    "linear": LINEAR,
    "endpoint": ENDPOINT,
    "ensemble": ENSEMBLE,
    "none": NO_TEACHER,
}


def kind_of(teacher: AnyTeacher | TeacherFacts) -> TeacherKind[Any]:
    """The row of a teacher, by its table in the recipe or by its facts once it is prepared."""
    return KINDS[teacher.kind]


def _last_part(name: str) -> str:
    """The last part of a checkpoint's or file's name: a full path would reveal something about the machine."""
    return PurePosixPath(name).name or name
