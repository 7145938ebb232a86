"""`[tracking]`: where the curves of a training go while it runs."""

from pydantic import Field

from limbeck.recipe.base import Section


class Tracking(Section):
    """Losses, learning rate and dev accuracy of every training, for the trackers that accelerate knows."""

    trackers: list[str] = []
    """Their names, e.g. ["tensorboard"], ["wandb"] or ["mlflow"]; each has to be installed."""
    project: str = Field(default="limbeck", pattern=r"^\w[\w .-]*$")
    """What the tracker shall call the project."""
