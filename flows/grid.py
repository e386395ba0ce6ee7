"""A study over a grid of options of its connector: one corpus, one model and the same questions at each point."""

from itertools import product

from flows.study import Study


def grid_points(study: Study) -> tuple[Study, ...]:
    """The study at each point of its grid, in the order of the values; without a grid the study itself.

    A point is a study of one corpus, which is called after its options: ``ising temperature=2.269``.
    """
    if not study.grid:
        return (study,)
    return tuple(_at(study, dict(zip(study.grid, values, strict=True))) for values in product(*study.grid.values()))


def point_label(options: dict[str, object]) -> str:
    """``temperature=2.269``, and further options after a blank."""
    return " ".join(f"{name}={value}" for name, value in options.items())


def _at(study: Study, options: dict[str, object]) -> Study:
    changes = {
        "options": {**study.source.options, **options},
        "name": f"{study.corpus_name} {point_label(options)}",
    }
    return study.model_copy(update={"source": study.source.model_copy(update=changes), "grid": {}})
