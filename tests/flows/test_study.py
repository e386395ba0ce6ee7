"""Studies: reading, overriding, and every mistake as one line that says what to do."""

import json
from pathlib import Path

import pytest

from flows.study import Study, is_data_file, load_study, shipped_studies, with_source
from infosedd.errors import InputError

MINIMAL = """
name = "mine"
[source]
path = "data.csv"
[[measures]]
x = "a"
y = "b"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_every_study_that_ships_is_valid() -> None:
    assert "lac-promoter" in shipped_studies()
    for name in shipped_studies():
        assert load_study(name).name == name


def test_a_study_survives_json_as_a_flow_parameter_does() -> None:
    study = load_study("lac-promoter")
    assert Study.model_validate(json.loads(study.model_dump_json())) == study


def test_relative_paths_count_from_the_study_file(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n")
    assert load_study(written(tmp_path, MINIMAL)).source.path == (str(tmp_path / "data.csv"),)


@pytest.mark.parametrize(
    ("given", "listed"),
    [
        ('"a.csv"', ("a.csv",)),
        ('["a.csv", "b.csv"]', ("a.csv", "b.csv")),
        ('{ x = "a.fa", y = "b.fa" }', ("x=a.fa", "y=b.fa")),
    ],
)
def test_a_path_is_one_several_or_labelled(tmp_path: Path, given: str, listed: tuple[str, ...]) -> None:
    study = load_study(written(tmp_path, MINIMAL.replace('"data.csv"', given)))
    labelled = [text.rpartition("=") for text in listed]
    assert study.source.path == tuple(f"{label}{equals}{tmp_path / path}" for label, equals, path in labelled)


@pytest.mark.parametrize(
    ("given", "listed"),
    [
        ('"none.csv"', "{folder}/none.csv"),
        ('{ 1 = "a.fa" }', "1={folder}/a.fa"),
        ('"package:lac.csv"', "package:lac.csv"),
        ('"https://host/a.csv"', "https://host/a.csv"),
        ('"owner/name"\nconnector = "hub"', "owner/name"),
        ('"./saved"\nconnector = "hub"', "{folder}/saved"),
    ],
)
def test_a_file_of_that_name_elsewhere_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, listed: str
) -> None:
    folder, elsewhere = tmp_path / "study", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    for name in ("none.csv", "a.fa", "1=a.fa", "saved"):
        (elsewhere / name).write_text("other data\n")
    monkeypatch.chdir(elsewhere)
    motifs = '[motifs]\npath = "none.txt"\n'
    study = load_study(written(folder, MINIMAL.replace('"data.csv"', given) + motifs))
    assert study.source.path == (listed.format(folder=folder),)
    assert study.motifs is not None and study.motifs.path == str(folder / "none.txt")


def test_a_missing_file_is_named_in_full_and_the_command_line_counts_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.steps import read

    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "data.csv").write_text("a,b\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"no such file, {folder}/data.csv"):
        read(load_study(written(folder, MINIMAL)).source, "mine")
    given = load_study(folder / "mine.toml", ["source.path=data.csv"])
    assert given.source.path == (str(tmp_path / "data.csv"),)


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        (["a.csv", "b.csv"], ("a.csv", "b.csv")),
        (["p=a.csv", "q=b.csv"], ("p=a.csv", "q=b.csv")),
        (["a.csv", "--source", "b.csv"], None),
    ],
)
def test_an_estimate_takes_all_the_data_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], paths: tuple[str, ...] | None
) -> None:
    from flows import launch
    from flows.cli import invoke

    seen: list[Study] = []

    def asked(study: Study, *_: object) -> None:
        seen.append(study)
        raise InputError("enough")

    monkeypatch.setattr(launch, "run_alone", asked)
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,y\nA,B\n")
    assert invoke(["estimate", *arguments, "--x", "x", "--y", "y", "--home", "home"]) == 2
    if paths is None:
        assert seen == []
    else:
        resolved = [text.rpartition("=") for text in paths]
        assert seen[0].source.path == tuple(f"{label}{equals}{tmp_path / path}" for label, equals, path in resolved)


def test_json_is_a_study_or_data_by_what_it_holds(tmp_path: Path) -> None:
    kept, data, lines = (tmp_path / name for name in ("kept.json", "data.json", "lines.json"))
    kept.write_text(load_study(written(tmp_path, MINIMAL)).model_dump_json())
    data.write_text('[{"a": 1, "b": 2}]')
    lines.write_text('{"a": 1}\n{"a": 2}\n')
    assert [is_data_file(str(path)) for path in (kept, data, lines)] == [False, True, True]
    with pytest.raises(InputError, match="not a JSON object"):
        load_study(data)


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("seed=3", "seed", 3),
        ("measures.0.window=4", "measures.0.window", 4),
        ("source.options.flag=true", "source.options.flag", True),
        ("source.options.list=[1, 2]", "source.options.list", [1, 2]),
        ("report.title=where, and how much", "report.title", "where, and how much"),
        ("title=3 = three", "title", "3 = three"),
        ('source.connector="table"', "source.connector", "table"),
    ],
)
def test_set_reaches_every_part(tmp_path: Path, override: str, path: str, value: object) -> None:
    found: object = load_study(written(tmp_path, MINIMAL), [override]).model_dump(mode="json")
    for part in path.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]  # type: ignore[index]
    assert found == value


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("sed=1", ["no option 'sed'", "did you mean 'seed'"]),
        ("measures.0.windo=4", ["no option 'windo'", "did you mean 'window'"]),
        ("source.pth=x", ["no option 'pth'", "did you mean 'path'"]),
        ("measures.3.x=a", ["no entry '3'", "there are 1"]),
        ("seed=many", ["option 'seed'", "integer", "'many'"]),
        ("seed=-1", ["option 'seed'", "greater than or equal to 0"]),
        ("seed", ["key=value"]),
        ("name.deep=1", ["'name'", "shorten"]),
        ("name.deep.er=1", ["'name.deep'", "shorten"]),
        ("measures.0.y=", ["mutual_information needs a block y"]),
        ("measures.0.measure=entropy", ["entropy takes no block y"]),
        ("measures.0.measure=entropie", ["'measures.0.measure'", "'entropy'"]),
        ("measures.0.mode=sideways", ["'keep'", "'sideways'"]),
        ("name=../up", ["option 'name'", "'../up'"]),
    ],
)
def test_a_wrong_override_says_what_is_known(tmp_path: Path, override: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        load_study(written(tmp_path, MINIMAL), [override])
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", ["not valid TOML", "mine.toml"]),
        ('name = "mine"\n', ["'measures' is required"]),
        (MINIMAL + 'extra = "y"\n', ["no option 'extra'"]),
        (MINIMAL.replace('x = "a"', ""), ["'measures.0.x' is required"]),
        ("", ["required"]),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        load_study(written(tmp_path, text))
    for word in words:
        assert word in str(caught.value)


def test_an_unknown_study_names_the_near_one() -> None:
    with pytest.raises(InputError, match="did you mean 'lac-promoter'"):
        load_study("lac-promotor")


def test_the_study_of_a_run_can_be_run_again(tmp_path: Path) -> None:
    study = load_study(written(tmp_path, MINIMAL))
    (tmp_path / "run.json").write_text(study.model_dump_json())
    assert load_study(tmp_path / "run.json") == study
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        load_study(tmp_path / "bad.json")


def test_a_missing_file_a_folder_and_bytes_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such study file"):
        load_study(tmp_path / "none.toml")
    with pytest.raises(InputError, match="not a folder"):
        load_study(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(InputError, match="not UTF-8"):
        load_study(tmp_path / "latin.toml")


def test_other_data_keeps_the_questions_and_gets_its_own_name() -> None:
    study = with_source(load_study("lac-promoter"), ["some/mine.csv.gz"])
    assert study.corpus_name == "mine"
    assert study.source.path == ("some/mine.csv.gz",)
    assert study.source.options == load_study("lac-promoter").source.options
    assert with_source(study, ["p=a.fa", "n=b.fa.gz"]).corpus_name == "a+b"
    assert with_source(study, ["2024.01.csv"]).corpus_name == "2024.01"
    assert with_source(study, ["lac.v2.FASTA.gz"]).corpus_name == "lac.v2"


def test_the_form_of_a_flow_offers_a_name_or_the_options() -> None:
    options, named = Study.model_json_schema()["anyOf"]
    assert named["type"] == "string"
    assert {"name", "source", "measures", "seed"} <= set(options["properties"])
    assert Study.model_validate("lac-promoter") == load_study("lac-promoter")
