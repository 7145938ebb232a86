"""A checkpoint that cannot be pretrained is refused before anything runs."""

from limbeck.models.checkpoint import find_checkpoint
from limbeck.pretraining.loading import guessing_tokenizer
from limbeck.recipe.teacher import AnyTeacher, EncoderTeacher, EnsembleTeacher


def refuse_pretraining(teacher: AnyTeacher) -> None:
    """Raise what pretraining would raise after the data was read: not every checkpoint can guess masked words."""
    members = teacher.members if isinstance(teacher, EnsembleTeacher) else [teacher]
    encoders = [member for member in members if isinstance(member, EncoderTeacher) and member.pretraining is not None]
    for checkpoint in dict.fromkeys(encoder.checkpoint for encoder in encoders):
        guessing_tokenizer(find_checkpoint(checkpoint), name=checkpoint)
