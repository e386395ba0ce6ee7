"""Tasks whose answer is known: each draws a corpus and says what an estimate of it should be.

The same seed gives the same corpus. ``draw`` is the short way from Python::

    corpus, truths = draw("paired_letters", n=100_000, length=10, seed=0)
"""

from collections.abc import Mapping, Sequence

from connectors.errors import SyntheticError
from connectors.info import ConnectorInfo, Truth
from connectors.options import parse_options
from connectors.synthetic_tasks import TASKS, SyntheticOptions, Task
from infosedd.blocks import near_names
from infosedd.corpus import Corpus, Provenance


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Draw the task that the options name; there is no source file."""
    if sources:
        raise SyntheticError("the synthetic connector reads no file", where=sources[0], remedy="give options only")
    task, asked = _parsed(options)
    blocks, tokens = task.draw(asked)
    provenance = Provenance(
        connector="synthetic",
        source_uri=f"synthetic:{asked.task}",
        options=asked.model_dump(include={"task", "n", "seed", *task.reads}),
        n_read=asked.n,
    )
    return Corpus(name=name, blocks=blocks, tokens=tokens, provenance=provenance)


def truths(options: Mapping[str, object]) -> tuple[Truth, ...]:
    """The known answers of a task with these options, in nats."""
    task, asked = _parsed(options)
    return task.truths(asked)


def divergences(options: Mapping[str, object], others: Mapping[str, object]) -> tuple[Truth, ...]:
    """The known divergences of what ``options`` draw from what ``others`` draw, in nats."""
    (task, asked), (other_task, other) = _parsed(options), _parsed(others)
    return task.divergences(asked, other) if task is other_task and task.divergences else ()


def draw(task: str, *, n: int = 20_000, seed: int = 0, **options: object) -> tuple[Corpus, tuple[Truth, ...]]:
    """The corpus of a task and its known answers."""
    everything = {"task": task, "n": n, "seed": seed, **options}
    return read((), everything, task), truths(everything)


def _parsed(options: Mapping[str, object]) -> tuple[Task, SyntheticOptions]:
    asked = parse_options(SyntheticOptions, options, SyntheticError, "synthetic")
    if asked.task not in TASKS:
        raise SyntheticError(f"there is no task {asked.task!r}", remedy=near_names(asked.task, list(TASKS)))
    task = TASKS[asked.task]
    idle = sorted(asked.model_fields_set - {"task", "n", "seed", *task.reads})
    if idle:
        raise SyntheticError(
            f"task {asked.task!r} does not read {idle[0]!r}",
            remedy=f"it reads {', '.join(['n', 'seed', *task.reads])}",
        )
    task.check(asked)
    return task, asked


INFO = ConnectorInfo(
    name="synthetic",
    summary="tasks with a known answer, drawn from a seed: " + ", ".join(TASKS),
    formats=("none: it draws",),
    options_model=SyntheticOptions,
    read=read,
    truths=truths,
    divergences=divergences,
    needs_source=False,
)
