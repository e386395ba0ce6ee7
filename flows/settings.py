"""Settings of the machine and the user, from ``INFOSEDD_*`` variables and a ``.env`` file.

What a result depends on is in the study file; what is here may change without changing a number.
"""

from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from infosedd.validation import explained


class Settings(BaseSettings):
    """How and where to run; the command line overrides each."""

    model_config = SettingsConfigDict(env_prefix="INFOSEDD_", env_file=".env", extra="ignore", frozen=True)

    home: Path = Field(default=Path("infosedd-home"), description="Folder for data, models, results and reports")
    device: str = Field(default="auto", description="auto, cpu, cuda or cuda:1")
    runner: str = Field(default="threads", description="threads, processes, dask or dask=ADDRESS")
    workers: int = Field(default=2, ge=1, description="Files that are run at once, by threads, processes or Dask")
    retries: int = Field(default=2, ge=0, le=3, description="Tries again after the surroundings failed a step")
    heartbeat: int | None = Field(default=None, ge=30, description="Seconds between signs of life to a Prefect server")
    notify: str | None = Field(default=None, description="Prefect block told of failures, as slack-webhook/NAME")
    threads: int | None = Field(
        default=None, ge=1, description="Threads of linear algebra; default: torch's own choice"
    )


def settings(**overrides: object) -> Settings:
    """The settings in force; overrides that are None leave the variable or the default."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # pyright: ignore[reportArgumentType]
    except ValidationError as failure:
        raise explained(failure, Settings, "the settings INFOSEDD_* or the file .env") from None
