"""Refuses recipes whose student cannot be built or trained, before anything runs, from the shapes of both models."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from limbeck.artifacts.general_folder import FACTS as GENERAL_FACTS
from limbeck.artifacts.general_folder import GeneralFolder
from limbeck.distillation.checkpoint_start import refuse_other_tokens
from limbeck.distillation.graph_vocabulary import width_of_table
from limbeck.distillation.ngram_vocabulary import width_of_ngrams
from limbeck.distillation.objective import term_of
from limbeck.distillation.size_limit import SizeBudget, SizeLimit, levers_of
from limbeck.distillation.stages import trainings_of
from limbeck.distillation.terms.term import LayerShape, Shapes
from limbeck.distillation.transformer_vocabulary import refuse_tokens, transformer_budget
from limbeck.distillation.vectors import width_of
from limbeck.errors import ArtifactDamaged, LayersUnreadable, StudentError
from limbeck.models.checkpoint import damage_as_user_errors, find_checkpoint, from_folder
from limbeck.models.layer_parts import FAMILIES, own_layers
from limbeck.models.mean_encoder import MeanEncoderConfig
from limbeck.models.students import word_student
from limbeck.models.tokenizer import load_tokenizer
from limbeck.models.transformer import refuse_family, shape_for, student_family
from limbeck.models.transformer_start import layer_sources, starts_as_classifier
from limbeck.models.twin_encoder import TwinEncoderConfig
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.files import general_folder
from limbeck.recipe.losses import AnyLoss, LayerLoss
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import AnyStudent, Ngrams, Transformer, WordStudent
from limbeck.recipe.teacher import AnyTeacher, EncoderTeacher, each_teacher
from limbeck.recipe.textgcn import TextGcn
from limbeck.training.modes import quiet_transformers

AUTO = "auto"  # corpus.language: found when the rows are read
ANY_WIDTH = 8  # of features: no check of a loss depends on it
CLASSES = ["no", "yes"]  # the smallest number that a corpus can have


class TeacherReadsApart(StudentError):
    """A transformer student is to start from a teacher that reads the two texts of a pair separately."""

    def __init__(self, *, checkpoint: str) -> None:
        super().__init__(
            "a transformer student reads both texts of a pair together, and its teacher reads them separately",
            found=f"teacher.checkpoint: {checkpoint}",
            advice='Set student.kind = "bilstm", or name a checkpoint that was not fine-tuned with pairs = "apart".',
        )


class TeacherHasOtherHead(StudentError):
    """A transformer student is to start from a teacher whose head reads the mean of the states."""

    def __init__(self, *, checkpoint: str) -> None:
        super().__init__(
            "a transformer student takes over the head of its teacher, and this one's reads the mean of all states",
            found=f"teacher.checkpoint: {checkpoint}",
            advice='Set student.kind = "bilstm", or name a checkpoint that was not fine-tuned with head = "mean".',
        )


class ClassesUnlearned(StudentError):
    """A transformer student neither starts with its teacher's classifier nor trains one."""

    def __init__(self, *, losses: Sequence[str], reason: str) -> None:
        self.losses = tuple(losses)
        super().__init__(
            f"{', '.join(losses)} alone cannot train a classifier, and the student's starts at random: {reason}",
            advice="Add logit_mse, soft_targets or hard_labels to distillation.losses, or a last stage with one of "
            "them.",
        )


class GeneralLanguageDiffers(StudentError):
    """The general student was taught another language than that of the corpus."""

    def __init__(self, *, start: str, found: str, language: str) -> None:
        super().__init__(
            f"student.start = '{start}' knows another language than the corpus has",
            found=f'its language is "{found}", and corpus.language is "{language}"',
            advice='Name a general student of that language, or set student.start = "random".',
        )


class GeneralKindDiffers(StudentError):
    """A student of words is to start from a general transformer, or the other way round."""

    def __init__(self, *, start: str, found: str, kind: str) -> None:
        super().__init__(
            f"a {kind} cannot start from student.start = '{start}'",
            found=f"it is a {found}",
            advice="Name a general student that has its kind of tokens, or remove student.start.",
        )


def refuse_the_impossible(recipe: Recipe, *, size_limit: SizeLimit | None = None) -> None:
    """Raise now what building the student, or a term of its objective, would raise hours later.

    Refused are: a loss function that cannot be imported, layers or heads that the models do not have, a teacher family
    whose attention cannot be read, whose layers cannot be dropped or whose tokens cannot be reused, a classifier that
    would never be trained, a general student of another language, a size limit that leaves no space for words.
    """
    losses, student = recipe.distillation.every_loss, recipe.student
    shapes = Shapes(student_features=ANY_WIDTH, teacher_features=ANY_WIDTH)
    encoder = _encoder_of(recipe.teacher)
    refuse_general(student, recipe.corpus.language)
    if isinstance(student, Transformer) and student.checkpoint is not None:
        shapes = _shapes_from_checkpoint(recipe, student, student.checkpoint, encoder)
    elif isinstance(student, Transformer) and encoder is not None:
        config = _config_of(encoder.checkpoint, with_tokens=student.vocabulary.kind == "teacher")
        if config.model_type == TwinEncoderConfig.model_type:
            raise TeacherReadsApart(checkpoint=encoder.checkpoint)
        if config.model_type == MeanEncoderConfig.model_type:
            raise TeacherHasOtherHead(checkpoint=encoder.checkpoint)
        shapes = _layer_shapes(student, config)
        _refuse_unlearned_classes(recipe.distillation, student, config)
        _refuse_unreadable(config, losses)
    for loss in losses:
        term_of(loss, shapes)
    if size_limit is not None:
        _size_budget(recipe, size_limit).refuse_unless_any(most=student.vocabulary.max_size)


def _shapes_from_checkpoint(recipe: Recipe, student: Transformer, start: str, encoder: EncoderTeacher | None) -> Shapes:
    """Of a student that starts from a checkpoint in the place of its teacher."""
    own = _config_of(start, with_tokens=student.vocabulary.kind == "teacher", what="student")
    losses = [loss for loss in recipe.distillation.every_loss if isinstance(loss, LayerLoss)]
    *_, last = trainings_of(recipe.distillation, alone=False)
    if not last.judged_by_dev:
        raise ClassesUnlearned(losses=[loss.kind for loss in last.losses], reason=f'student.start = "{start}"')
    shapes = _layer_shapes(student, own)
    if not losses or encoder is None:  # without an encoder, losses on layers are refused with the recipe
        return shapes
    theirs = _config_of(encoder.checkpoint, with_tokens=False)
    _refuse_unreadable(theirs, losses)
    refuse_other_tokens(start, encoder.checkpoint, losses=[loss.kind for loss in losses])
    return replace(shapes, teacher_layers=_layer_shape(theirs))


def _refuse_unreadable(theirs: Any, losses: Sequence[AnyLoss]) -> None:
    """Attention is read from projections, which must be known."""
    if theirs.model_type not in FAMILIES and any(
        isinstance(loss, LayerLoss) and loss.reads_attention for loss in losses
    ):
        raise LayersUnreadable(family=theirs.model_type, known=list(FAMILIES))


def _general_of(student: AnyStudent) -> GeneralFolder | None:
    """The general student that it starts from."""
    if isinstance(student, WordStudent):
        return GeneralFolder(general_folder(student.start)) if student.is_general else None
    folder = Path(student.checkpoint) if isinstance(student, Transformer) and student.checkpoint else None
    return GeneralFolder(folder) if folder and (folder / GENERAL_FACTS).is_file() else None


def refuse_general(student: AnyStudent, language: str) -> None:
    """Refuse to start from a general student that is damaged, of another kind, or that knows another language ("auto"
    is any)."""
    general = _general_of(student)
    if general is None or isinstance(student, Ngrams | TextGcn):
        return
    if faults := general.faults():
        advice = "Make it again with `limbeck pretrain`; if it came with the package, install limbeck again."
        raise ArtifactDamaged(folder=general.folder, faults=faults, advice=advice)
    facts = general.facts
    if (facts.kind == "transformer") != isinstance(student, Transformer):
        raise GeneralKindDiffers(start=student.start, found=facts.kind, kind=student.kind)
    found = facts.language
    if language not in (found, AUTO):
        raise GeneralLanguageDiffers(start=student.start, found=found, language=language)


def _size_budget(recipe: Recipe, limit: SizeLimit) -> SizeBudget:
    """With the smallest number of classes: the corpus, which has the real one, is not read yet."""
    student, encoder = recipe.student, _encoder_of(recipe.teacher)
    if isinstance(student, Transformer):
        origin = student.checkpoint or (encoder.checkpoint if encoder else None)
        assert origin is not None, "otherwise the recipe is refused"
        return transformer_budget(student, _config_of(origin, with_tokens=False), limit, labels=CLASSES)
    pair = recipe.corpus.pair is not None
    if isinstance(student, Ngrams):
        width = width_of_ngrams(student, classes=len(CLASSES), pair=pair)
        of_width = partial(word_student, student, embedding_size=width, labels=CLASSES, pair=pair)
        return limit.budget(lambda tokens: of_width(vocabulary_size=tokens), levers=levers_of(student), labels=CLASSES)

    if isinstance(student, TextGcn):
        width = width_of_table(student, classes=len(CLASSES), pair=pair)
        of_words = partial(word_student, student, embedding_size=width, labels=CLASSES, pair=pair)
        return limit.budget(lambda tokens: of_words(vocabulary_size=tokens), levers=levers_of(student), labels=CLASSES)

    def teacher_width() -> int:
        if encoder is None:
            return student.embedding_size  # it starts at random
        return int(_config_of(encoder.checkpoint, with_tokens=False).hidden_size)

    if student.is_general:
        width = min(student.embedding_size, GeneralFolder(general_folder(student.start)).facts.width)
    else:
        width = sum(
            width_of(source, embedding_size=student.embedding_size, teacher_width=teacher_width)
            for source in student.vector_sources
        )
    shape = partial(word_student, student, embedding_size=width, labels=CLASSES, pair=pair)
    return limit.budget(lambda tokens: shape(vocabulary_size=tokens), levers=levers_of(student), labels=CLASSES)


def _encoder_of(teacher: AnyTeacher) -> EncoderTeacher | None:
    """The teacher, or the first member of an ensemble, that has tokens and layers."""
    return next((member for member in each_teacher(teacher) if isinstance(member, EncoderTeacher)), None)


def _refuse_unlearned_classes(distillation: Distillation, student: Transformer, theirs: Any) -> None:
    *_, last = trainings_of(distillation, alone=False)
    kind = student_family(student, model_type=theirs.model_type)
    if last.judged_by_dev:
        return
    reason = ""
    if student.start == "random":
        reason = 'student.start = "random"'
    elif shape_for(student, theirs).width != theirs.hidden_size:
        reason = f"it does not have the width of its teacher ({theirs.hidden_size})"
    elif not starts_as_classifier(kind, teacher_kind=theirs.model_type):
        reason = f"a {kind} and a {theirs.model_type} have different classifiers"
    if reason:
        raise ClassesUnlearned(losses=[loss.kind for loss in last.losses], reason=reason)


def _layer_shapes(student: Transformer, theirs: Any) -> Shapes:
    refuse_family(student, model_type=theirs.model_type)
    shape = shape_for(student, theirs)
    if student.start != "random" and shape.width == theirs.hidden_size:
        own = student.layer_groups if student.shares_layers else shape.layers
        layer_sources(student.teacher_layers, student_layers=own, teacher_layers=own_layers(theirs))
    return Shapes(
        student_features=ANY_WIDTH,
        teacher_features=ANY_WIDTH,
        student_layers=LayerShape(layers=shape.layers, heads=shape.heads, width=shape.width),
        teacher_layers=_layer_shape(theirs),
    )


def _layer_shape(theirs: Any) -> LayerShape:
    return LayerShape(theirs.num_hidden_layers, theirs.num_attention_heads, theirs.hidden_size)


def _config_of(checkpoint: str, *, with_tokens: bool, what: str = "teacher") -> Any:
    """The config of a checkpoint; refuses one whose tokens a student is to reuse and cannot (`with_tokens`)."""
    quiet_transformers()
    folder = find_checkpoint(checkpoint, what=what)
    with damage_as_user_errors(folder, what=what):
        config = from_folder(AutoConfig, folder)
        if with_tokens:
            refuse_tokens(load_tokenizer(folder, config))
    return config
