"""Factor transfer's first step: the paraphraser learns the teacher's features before the student is taught."""

from torch import Tensor

from limbeck.distillation.objective import Objective
from limbeck.distillation.paraphraser import train_paraphraser
from limbeck.distillation.terms.features import Factors
from limbeck.progress import Reporter


def teach_paraphrasers(objective: Objective, features: Tensor, *, seed: int, reporter: Reporter) -> None:
    """Train the paraphraser of every factor-transfer term on these (rows, width), then let it stand still."""
    for term in objective.terms:
        if isinstance(term, Factors):
            paraphraser = term.paraphraser.to(features.device).requires_grad_(True)
            epochs = term.settings.paraphraser_epochs
            error = train_paraphraser(paraphraser, features, epochs=epochs, seed=seed)
            paraphraser.requires_grad_(False)
            reporter.note(
                f"  the paraphraser says {features.shape[1]} features with {paraphraser.factor_width}, "
                f"leaving {error:.1%} of their variance unsaid"
            )
