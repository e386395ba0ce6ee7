"""The commands in the order of the help; each imports what it needs when it runs."""

import typer

from flows.cli import check, data, lists, models, parts, run, serve, sql, watch
from infosedd.version import VERSION


def command():
    """The whole command line as one command object."""
    app = typer.Typer(
        name="infosedd",
        help="Information measures of discrete data: how many nats, where, and can the number be trusted.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    run.register(app)
    parts.register(app)
    check.register(app)
    watch.register(app)
    serve.register(app)
    sql.register(app)
    lists.register(app)
    models.register(app)
    data.register(app)
    return typer.main.get_command(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(VERSION)
        raise typer.Exit()


def _root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Information measures of discrete data: how many nats, where, and can the number be trusted."""
