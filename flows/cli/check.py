"""``infosedd check``: does a study's number keep to what must hold, on the study's own data?"""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import AsJson, Device, HomeFolder, MoreSources, Overrides, Seed, Sources, StudyName
from flows.cli.run import chosen_study, created_home, typed_command, use_device

if TYPE_CHECKING:
    from flows.checking import Checked


def register(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    study: StudyName,
    more_sources: MoreSources = None,
    rows: Annotated[
        int | None,
        typer.Option("--rows", min=1, help="Use so many draws, picked at random.  [default: all, at most 200,000]"),
    ] = None,
    curve: Annotated[bool, typer.Option("--curve", help="Also: has it settled? Train on a quarter, a half.")] = False,
    null: Annotated[
        int, typer.Option("--null", min=0, metavar="N", help="Also: refit N times on shuffled pairs, for a p-value.")
    ] = 0,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CHECK", help="Carry out this check; repeatable.")
    ] = None,
    source: Sources = None,
    overrides: Overrides = None,
    seed: Seed = None,
    device: Device = None,
    home: HomeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Check a study's mutual information on its own data; a check that fails is a row, not an error."""
    from flows.checking import Wanted
    from flows.launch import launch_checks

    chosen = chosen_study(study, overrides, seed, source, more_sources)
    wanted = Wanted(rows, curve, null, tuple(only or ()))
    use_device(device)
    checked = launch_checks(chosen, created_home(home), wanted, typed_command())
    if as_json:
        print(json.dumps(_as_json(checked), indent=1))
    else:
        _show(checked)


def _show(checked: "Checked") -> None:
    from flows.show import show_table
    from infosedd.progress import duration

    reference, cost = checked.reference.estimate, checked.cost
    print(f"{checked.study.title or checked.study.name}: I({reference.x}; {reference.y}) = {reference}")
    rows = [
        [
            v.name, "pass" if v.passed else "FAIL", f"{v.observed:.4f}", f"{v.std_error:.4f}", f"{v.expected:.4f}",
            "-" if v.tolerance is None else f"{v.tolerance:.4f}", v.claim,
        ]
        for v in checked.verdicts
    ]  # fmt: skip
    show_table(["check", "outcome", "nats", "std error", "expected", "tolerance", "what must hold"], rows)
    for skipped in checked.skipped:
        print(f"skipped {skipped.name}: {skipped.reason}")
    print(f"checks that hold: {len(rows) - len(checked.failed)} of {len(rows)}", end="")
    print(f"; models trained: {cost.n_fits - cost.n_stored}; {duration(checked.seconds)} in all")


def _as_json(checked: "Checked") -> dict:
    reference = checked.reference
    return {
        "run_id": checked.run_id,
        "study": checked.study.name,
        "seed": checked.study.seed,
        "corpus_id": reference.corpus_id,
        "model_id": reference.model_id,
        "x": reference.estimate.x,
        "y": reference.estimate.y,
        "z": reference.estimate.z,
        "nats": reference.estimate.nats,
        "std_error_nats": reference.estimate.std_error,
        "n_samples": reference.estimate.n_samples,
        "n_failed": len(checked.failed),
        "checks": [
            {
                "name": v.name, "claim": v.claim, "passed": v.passed, "observed_nats": v.observed,
                "std_error_nats": v.std_error, "expected_nats": v.expected, "tolerance_nats": v.tolerance,
                "figures": dict(v.figures),
            }
            for v in checked.verdicts
        ],
        "skipped": {s.name: s.reason for s in checked.skipped},
        "n_fits": checked.cost.n_fits,
        "n_fits_stored": checked.cost.n_stored,
        "seconds": round(checked.seconds, 3),
    }  # fmt: skip
