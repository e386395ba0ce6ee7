"""The configuration of a score model: process, network, training, and how it is judged."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infosedd.networks import AnyComponent
from infosedd.orders import Order
from infosedd.pace import TrainingConfig
from infosedd.processes import ProcessName
from infosedd.queries import TrainingQuery
from infosedd.schedules import ScheduleName
from infosedd.validation import explained


class ModelConfig(BaseModel):
    """All that decides what a model becomes, with the corpus and the seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    process: ProcessName = Field(default="absorbing", description="how tokens are noised")
    schedule: ScheduleName = Field(default="log_linear", description="how fast they are noised, for the time integral")
    network: Literal["auto"] | tuple[AnyComponent, ...] = Field(
        default="auto", description="components of the score network; auto picks by length, vocabulary and sample size"
    )
    members: int = Field(default=1, ge=1, description="networks a fold, trained from different seeds and averaged")
    queries: tuple[TrainingQuery, ...] = Field(
        default=(), description="what will be asked; none: any token from any subset of the others"
    )
    training: TrainingConfig = Field(default=TrainingConfig(), description="when to stop, and how to step")
    folds: int = Field(default=5, ge=2, description="folds of the cross-fit, where the corpus fixes no split")
    draws: int | None = Field(default=None, ge=1, description="noise draws a row in estimates; none: by sample size")
    integral: Literal["subset", "time"] = Field(
        default="subset", description="form of the integral (uniform: always time)"
    )
    order: Literal["auto"] | Order = Field(
        default="auto",
        description="how noise takes the tokens of a block: fine positions first (coarse_to_fine) or all at random; "
        "auto: random where no queries are given, so that any question can be asked",
    )
    variant: Literal["conditional", "joint"] = Field(
        default="conditional", description="what mutual information noises"
    )

    @property
    def resolved_order(self) -> Order:
        if self.order != "auto":
            return self.order
        return "coarse_to_fine" if self.queries else "random"

    @classmethod
    def parse(cls, options: dict, place: str = "the model configuration") -> "ModelConfig":
        """Validate plain values; InputError names the first option that is wrong."""
        try:
            return cls.model_validate(options)
        except ValidationError as error:
            raise explained(error, cls, place) from None
