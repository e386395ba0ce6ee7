"""A study over a grid: a corpus, a model and answers for each point, told apart and beside the exact answers."""

import json

import numpy as np
import pytest

from flows import steps
from flows.grid import grid_points
from flows.home import Home
from flows.pipeline import carry_out, ingest_all
from flows.study import Study, build_study, load_study
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from warehouse import queries

TINY = {
    "network": [{"kind": "pairwise", "learning_rate": 0.1}],
    "training": {"budget": "steps", "steps": 40, "batch_size": 128, "evaluate_every": 20},
    "folds": 2,
}
SMALL = ["source.options.length=2", "source.options.n=400", "grid.temperature=[2.0,3.0]"]
HALVES = ["measures.1.x=spins[0:2]", "measures.1.y=spins[2:4]"]


@pytest.fixture
def small() -> Study:
    return load_study("ising", [*SMALL, *HALVES], model=TINY)


def test_a_grid_has_a_point_for_each_combination() -> None:
    study = load_study("ising", ["grid.temperature=[2.0,3.0]", "grid.seed=[0,1]"])
    points = grid_points(study)
    assert [p.corpus_name for p in points] == [
        "ising temperature=2.0 seed=0",
        "ising temperature=2.0 seed=1",
        "ising temperature=3.0 seed=0",
        "ising temperature=3.0 seed=1",
    ]
    assert points[2].source.options == {"length": 8, "n": 20000, "temperature": 3.0, "seed": 0}
    assert not points[0].grid and points[0].measures == study.measures
    alone = load_study("lac-promoter")
    assert grid_points(alone) == (alone,)


def test_a_grid_survives_json_as_a_flow_parameter_does(small: Study) -> None:
    assert Study.model_validate(json.loads(small.model_dump_json())) == small


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("grid.temperature=[]", ["grid.temperature", "at least 1"]),
        ("grid.temperature=2.0", ["grid.temperature", "tuple"]),
    ],
)
def test_a_wrong_grid_is_one_line(override: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        load_study("ising", [override])
    for word in words:
        assert word in str(caught.value)


def test_a_wrong_point_is_refused_before_any_run(home: Home) -> None:
    study = load_study("ising", [*SMALL, *HALVES, "grid.temperature=[2.0,-1.0]"], model=TINY)
    with pytest.raises(InputError, match="temperature"):
        ingest_all(study, home)
    with pytest.raises(InputError, match="'temprature'"):
        ingest_all(build_study({**study.model_dump(), "grid": {"temprature": [1.0]}}, (), "ising"), home)
    with pytest.raises(InputError, match="several corpora"):
        steps.ingest(study, home)
    assert not home.warehouse.exists()


def test_every_point_is_told_apart_in_sql_and_compared_with_its_exact_answer(small: Study, home: Home) -> None:
    outcome = carry_out(small, home)
    assert [part.corpus.name for part in outcome.parts] == ["ising temperature=2.0", "ising temperature=3.0"]
    assert len({part.model.model_id for part in outcome.parts}) == 2
    assert [answer.spec.measure for answer in outcome.answers] == ["entropy", "mutual_information"] * 2
    sql = """
        select regexp_extract(corpus_name, 'temperature=(\\S+)', 1)::double as temperature, measure,
            value_nats, std_error_nats, truth_nats
        from estimates_against_truths where study = 'ising' and estimator = 'loss_difference' order by 1, 2
    """
    rows = queries.run(home.path, sql).rows()
    assert [(row[0], row[1]) for row in rows] == [
        (temperature, measure) for temperature in (2.0, 3.0) for measure in ("entropy", "mutual_information")
    ]
    for _, _, value, error, truth in rows:
        assert abs(value - truth) < 5 * error + 0.1
    latest = queries.run(home.path, "select distinct corpus_name from latest_estimates").height
    assert latest == 2

    before = queries.run(home.path, "select count(*) from estimates").item()
    again = carry_out(small, home, report=False)
    assert all(part.model.reused for part in again.parts) and all(answer.reused for answer in again.answers)
    assert queries.run(home.path, "select count(*) from estimates").item() == before

    assert outcome.report is not None
    page = outcome.report.read_text()
    assert "Over the grid" in page and "Against temperature" in page
    energy = (outcome.report.parent / "curve-energy.csv").read_text().splitlines()
    assert energy[0] == "temperature,value,std_error,exact"
    for line in energy[1:]:
        _, value, error, exact = map(float, line.split(","))
        assert abs(value - exact) < 5 * error
    heat = (outcome.report.parent / "curve-specific-heat.csv").read_text().splitlines()
    assert len(heat) == 2


def test_an_open_chain_is_the_same_study_with_other_options(home: Home) -> None:
    chain = ["source.options.length=4", "source.options.width=1", "source.options.boundary=open", "report.marks=[]"]
    study = load_study("ising", [*chain, "source.options.n=400", *HALVES, "grid.temperature=[1.0,2.0]"], model=TINY)
    ids = ingest_all(study, home)
    corpora = [Corpus.load(home.corpus(i)) for i in ids]
    assert [corpus.block("spins").lattice for corpus in corpora] == [(4,), (4,)]
    from connectors.ising import IsingOptions
    from connectors.ising_exact import exact
    from flows.report.ising import energies_of

    for corpus, temperature in zip(corpora, (1.0, 2.0), strict=True):
        options = IsingOptions(length=4, width=1, boundary="open", temperature=temperature)
        energies = energies_of(corpus, options)
        known = exact(4, 1, temperature, "open")
        assert known is not None
        assert abs(energies.mean() - known.energy) < 5 * energies.std() / np.sqrt(corpus.n)
