"""``infosedd studies``, ``connectors`` and ``report``: what there is."""

import json
from typing import Annotated

import typer

from flows.cli.options import AsJson, HomeFolder, MotifsFile


def register(app: typer.Typer) -> None:
    app.command("studies")(studies)
    app.command("connectors")(connectors)
    app.command("report")(report)


def studies(as_json: AsJson = False) -> None:
    """List the studies that ship."""
    from flows.show import show_table
    from flows.study import load_study, shipped_studies

    found = [(path, load_study(name)) for name, path in shipped_studies().items()]
    if as_json:
        print(json.dumps([{"name": s.name, "title": s.title, "file": str(path)} for path, s in found], indent=1))
        return
    show_table(["study", "what it asks", "file"], [[s.name, s.title, str(path)] for path, s in found])


def connectors(
    name: Annotated[str | None, typer.Argument(metavar="[CONNECTOR]", help="Show this one's options.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the connectors, or the options of one."""
    import connectors as readers
    from flows.show import show_table

    infos = [readers.get(name)] if name else readers.connectors()
    if as_json:
        print(json.dumps([_connector_row(info) for info in infos], indent=1))
    elif name:
        rows = [[o.name, o.kind, o.default, o.description] for o in infos[0].options]
        show_table(["option", "kind", "default", "what it does"], rows)
    else:
        show_table(["connector", "reads", "formats"], [[i.name, i.summary, ", ".join(i.formats)] for i in infos])


def _connector_row(info) -> dict:
    options = [
        {"name": o.name, "kind": o.kind, "default": o.default, "description": o.description} for o in info.options
    ]
    return {"name": info.name, "summary": info.summary, "formats": list(info.formats), "options": options}


def report(
    study: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="The study; default: the latest run.")] = None,
    motifs: MotifsFile = None,
    home: HomeFolder = None,
) -> None:
    """Write the report page of the latest run of a study again, and print its path."""
    from flows.cli.run import home_of
    from flows.launch import latest_run, study_of_run

    place = home_of(home)
    run_id = latest_run(place, study)
    from flows.report import write_report
    from flows.study import Motifs, with_motifs

    ran = study_of_run(place, run_id)
    if motifs is None:
        print(write_report(place.path, run_id, study=ran))
        return
    shown = with_motifs(ran, str(motifs)).motifs if ran else Motifs(path=str(motifs))
    print(write_report(place.path, run_id, study=ran, motifs=shown))
