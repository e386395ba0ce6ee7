"""The home folder and the settings."""

from pathlib import Path

import pytest

from flows.home import Home
from flows.settings import Settings, settings
from infosedd.errors import InputError, SurroundingsError


def test_a_home_is_made_where_there_is_none(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "a" / "b")
    assert home.path.is_dir()
    assert Home.create(home.path) == home


def test_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a folder"):
        Home.create(tmp_path / "file")
    with pytest.raises(SurroundingsError, match="can't make the home"):
        Home.create(tmp_path / "file" / "below")


def test_a_home_without_results_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="infosedd run"):
        Home.at(tmp_path).existing()


def test_the_command_line_overrules_the_variable_overrules_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings().home == Path("infosedd-home")
    (tmp_path / ".env").write_text("INFOSEDD_HOME=from-file\nOTHER=1\n")
    assert settings().home == Path("from-file")
    monkeypatch.setenv("INFOSEDD_HOME", "from-variable")
    assert settings().home == Path("from-variable")
    assert settings(home=Path("given"), device=None).home == Path("given")


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFOSEDD_THREADS", "none")
    with pytest.raises(InputError, match=r"'threads'.*integer.*INFOSEDD_"):
        settings()


def test_the_example_of_a_settings_file_names_every_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / ".env.example").read_text()
    lines = [line.removeprefix("#") for line in text.splitlines() if line.startswith("#INFOSEDD_")]
    named = {line.split("=")[0].removeprefix("INFOSEDD_").lower() for line in lines}
    assert named == set(Settings.model_fields)
    monkeypatch.chdir(tmp_path)
    for name in named:
        monkeypatch.delenv(f"INFOSEDD_{name.upper()}", raising=False)
    (tmp_path / ".env").write_text("\n".join(lines))
    given = settings()
    assert given.model_fields_set == named
    for name in ("home", "device", "runner", "workers", "retries"):  # shown with their defaults
        assert getattr(given, name) == Settings.model_fields[name].default


def test_a_study_is_kept_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home.create(tmp_path)
    home.keep_study("r1", "first")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(SurroundingsError, match="No space left"):
        home.keep_study("r1", "second")
    assert [(path.name, path.read_text()) for path in home.runs.iterdir()] == [("r1.json", "first")]
