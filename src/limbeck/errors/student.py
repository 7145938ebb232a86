"""Errors about students: their parts, their training, their export."""

from collections.abc import Sequence
from pathlib import Path

from limbeck.errors.message import LimbeckError, some


class StudentError(LimbeckError):
    """The student cannot be built as asked."""


class VectorsMalformed(StudentError):
    """A file of word vectors cannot be read."""

    def __init__(self, *, path: Path, line: int, reason: str) -> None:
        super().__init__(
            f"'{path}', line {line:,}: {reason}",
            advice="Word vectors are read as GloVe or word2vec text, or as word2vec binary (.bin), each also gzipped.",
        )


class TokenizerUnsupported(StudentError):
    """The teacher's tokenizer is of a kind that cannot be cut down for a student."""

    def __init__(self, *, found: str, known: Sequence[str]) -> None:
        self.model = found
        super().__init__(
            "the teacher's tokenizer cannot be cut down to a student's vocabulary",
            found=f"its model: {found}; known: {', '.join(known)}",
            advice='Set student.vocabulary.kind = "words".',
        )


class BudgetTooSmall(StudentError):
    """The student without any word is already larger than it may be."""

    def __init__(self, *, without_words: int, budget: int) -> None:
        super().__init__(
            f"the student has {without_words:,} parameters before its first word; its teacher has {budget:,}",
            advice="A student may not be larger than its teacher: lower student.hidden_size or student.embedding_size.",
        )


class SizeLimitTooSmall(StudentError):
    """The exported student takes more megabytes than it may, with hardly a word in it."""

    def __init__(
        self,
        *,
        max_size_mb: float,
        precision: str,
        tokens: int,
        needed_mb: float,
        without_tokens_mb: float,
        to_lower: Sequence[str],
    ) -> None:
        self.needed_mb = needed_mb
        keys = ", ".join(f"student.{key}" for key in to_lower)
        int8 = "" if precision == "int8" else ", or add int8 to export.precisions"
        super().__init__(
            f"the student does not fit into student.max_size_mb = {max_size_mb:g}",
            found=f"as {precision} with {tokens:,} tokens: {needed_mb:.3g} MB; "
            f"before its first token: {without_tokens_mb:.3g} MB",
            advice=f"Raise student.max_size_mb, or lower one of {keys}{int8}.",
        )


class StudentFamilyUnsupported(StudentError):
    """A transformer student cannot have the layers of its teacher's family."""

    def __init__(self, *, family: str, known: Sequence[str]) -> None:
        self.family = family
        super().__init__(
            f"a transformer student cannot be of its teacher's family: {family}",
            found=f"known: {', '.join(known)}",
            advice='Set student.family = "bert", or "distilbert".',
        )


class TeacherReadsApart(StudentError):
    """A transformer student is to start from a teacher that reads the two texts of a pair one by one."""

    def __init__(self, *, checkpoint: str) -> None:
        super().__init__(
            "a transformer student reads both texts of a pair at once, and its teacher reads each by itself",
            found=f"teacher.checkpoint: {checkpoint}",
            advice='Set student.kind = "bilstm", or name a checkpoint that was not fine-tuned with pairs = "apart".',
        )


class TeacherTokensUnsupported(StudentError):
    """A transformer student cannot read the teacher's tokens as asked."""

    def __init__(self, *, reason: str, other_kind: str) -> None:
        self.reason = reason
        super().__init__(
            f"the student cannot use the teacher's tokens: {reason}",
            advice=f'Set student.vocabulary.kind = "{other_kind}".',
        )


class TeacherLayersMissing(StudentError):
    """A student is to start from layers that its teacher does not have."""

    def __init__(self, *, asked: str, missing: Sequence[int], teacher_layers: int) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"the student cannot start from these layers of its teacher: student.teacher_layers = {asked}",
            found=f"missing: {some(missing)}; the teacher has {teacher_layers}, from 0 to {teacher_layers - 1}",
            advice='Set student.teacher_layers = "uniform", name layers that exist, or lower student.layers.',
        )


class HeadsUnfit(StudentError):
    """The width of a transformer is not divisible by its number of heads."""

    def __init__(self, *, width: int, heads: int) -> None:
        divisors = ", ".join(str(number) for number in range(1, 33) if width % number == 0)
        super().__init__(
            f"a transformer student of width {width} cannot have {heads} heads: they must divide the width",
            advice=f"Set student.heads to one of {divisors}, or remove it.",
        )


class ClassesUnlearned(StudentError):
    """A transformer student neither starts with its teacher's classifier nor learns one."""

    def __init__(self, *, losses: Sequence[str], reason: str) -> None:
        self.losses = tuple(losses)
        super().__init__(
            f"{', '.join(losses)} alone teaches no classes, and the student's classifier starts at random: {reason}",
            advice="Add logit_mse, soft_targets or hard_labels to distillation.losses, or a last stage with one of "
            "them.",
        )


class LayerMapImpossible(StudentError):
    """The layers of student and teacher cannot be paired as asked."""

    def __init__(self, *, asked: str, reason: str, student_layers: int, teacher_layers: int, to_do: str) -> None:
        self.asked, self.reason = asked, reason
        self.student_layers, self.teacher_layers = student_layers, teacher_layers
        super().__init__(
            f"layers of student and teacher cannot be paired by {asked}: {reason}",
            found=f"layers of the student: {student_layers}; of the teacher: {teacher_layers}",
            advice=to_do,
        )


class HeadsDiffer(StudentError):
    """Attention is to be compared head by head, and the two models have different numbers of heads."""

    def __init__(self, *, loss: str, student: int, teacher: int) -> None:
        self.loss = loss
        super().__init__(
            f"{loss} compares attention head by head, and the student has {student} heads, the teacher {teacher}",
            advice=f"Set student.heads = {teacher}, or use minilm_v2, which splits both into heads of its own.",
        )


class RelationHeadsImpossible(StudentError):
    """The vectors of a layer cannot be split into this number of equal heads."""

    def __init__(self, *, heads: int, student_width: int, teacher_width: int) -> None:
        both = [number for number in range(1, 97) if student_width % number == 0 and teacher_width % number == 0]
        super().__init__(
            f"minilm_v2 cannot split layers into {heads} relation heads",
            found=f"width of the student: {student_width}; of the teacher: {teacher_width}",
            advice=f"Set its relation_heads to a number that divides both: {', '.join(map(str, both[-6:]))}.",
        )


class CustomLossUnusable(StudentError):
    """A loss function of the user's own cannot be found, or does not do what a loss must."""

    def __init__(self, *, call: str, reason: str) -> None:
        self.call = call
        super().__init__(
            f"the loss '{call}' cannot be used: {reason}",
            advice="It must be importable from here (PYTHONPATH, or an installed package), take student_logits, "
            "teacher_logits and labels, and return one number as a tensor.",
        )


class TrainingDiverged(LimbeckError):
    """The loss is infinite or not a number, so nothing is left to learn from."""

    def __init__(self, *, what: str, epoch: int, learning_rate: float) -> None:
        self.model, self.epoch = what, epoch
        super().__init__(
            f"{what}: the loss is not a finite number any more, in epoch {epoch}",
            found=f"the learning rate rises to {learning_rate:g}",
            advice='Lower learning_rate (a third is a good next try), or set precision = "fp32".',
        )


class ExportRefused(LimbeckError):
    """The exported file does not give the answers of the trained student."""

    def __init__(self, *, student: Path, precision: str, measure: str, found: str, allowed: str, rows: int) -> None:
        self.measure, self.measured = measure, found
        limit = "fp32_tolerance" if precision == "fp32" else "int8_agreement"
        super().__init__(
            f"export of '{student}' as {precision} refused: it does not match the trained student",
            found=f"{measure} on {rows:,} rows: {found}; allowed: {allowed}",
            advice=f"Remove {precision} from export.precisions, or loosen export.{limit} if you can accept that.",
        )
