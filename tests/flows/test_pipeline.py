"""A whole study with plain functions: rows, reuse, resumption, and nothing left of what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from flows import steps
from flows.checking import Wanted, carry_out_checks
from flows.home import Home
from flows.pipeline import Steps, carry_out
from flows.queries import asking, training_queries
from flows.show import show_answers
from flows.stored import keys_of
from flows.study import MeasureSpec, Study
from infosedd.corpus import Corpus
from infosedd.errors import InputError, SurroundingsError
from warehouse import queries

from .conftest import study_of, write_table


def rows(home: Home, sql: str) -> list[tuple]:
    return queries.run(home.path, sql).rows()


def counts(home: Home) -> dict[str, int]:
    return {
        table: rows(home, f"select count(*) from {table}")[0][0] for table in ("corpora", "score_models", "estimates")
    }


def test_a_study_runs_and_a_second_run_reuses_everything(study: Study, home: Home) -> None:
    first = carry_out(study, home, report=False, command="infosedd run small")
    assert not first.model.reused and not any(answer.reused for answer in first.answers)
    whole, windows, entropy = (answer.estimates for answer in first.answers)
    assert whole[0].nats > 3 * whole[0].std_error > 0
    assert [e.x for e in windows] == ["x[0:2]", "x[2:4]", "x[4:6]"]
    assert windows[0].nats > max(windows[1].nats, windows[2].nats)
    assert entropy[0].measure == "entropy"
    before = counts(home)
    assert before["corpora"] == before["score_models"] == 1

    second = carry_out(study, home, report=False)
    assert second.model.reused and second.model.model_id == first.model.model_id
    assert all(answer.reused for answer in second.answers)
    assert [[e.nats for e in a.estimates] for a in second.answers] == [
        [e.nats for e in a.estimates] for a in first.answers
    ]
    assert second.answers[0].estimates[0].other("dynkin") is not None
    assert counts(home) == before
    assert rows(home, "select status from runs") == [("completed",), ("completed",)]
    assert rows(home, "select distinct reused from run_estimates order by 1") == [(False,), (True,)]


def test_other_data_goes_beside_the_first(study: Study, home: Home, tmp_path: Path) -> None:
    first = carry_out(study, home, report=False)
    other = study_of(write_table(tmp_path / "other.csv", seed=1))
    second = carry_out(other, home, report=False)
    assert second.corpus.corpus_id != first.corpus.corpus_id
    assert second.model.model_id != first.model.model_id
    assert counts(home)["corpora"] == counts(home)["score_models"] == 2


def test_another_seed_is_another_model(study: Study, home: Home) -> None:
    ids = {carry_out(study.model_copy(update={"seed": s}), home, report=False).model.model_id for s in (0, 1)}
    assert len(ids) == 2


def test_a_failure_is_recorded_with_what_resumes_it_and_the_rest_is_reused(study: Study, home: Home) -> None:
    def fails_at_entropy(study: Study, spec: MeasureSpec, *others: object) -> steps.Answer:
        if spec.measure == "entropy":
            raise SurroundingsError("the disk is full", where="/home", remedy="free space")
        return steps.answer(study, spec, *others)  # type: ignore[arg-type]

    with pytest.raises(SurroundingsError):
        carry_out(study, home, Steps(answer=fails_at_entropy), command="infosedd run small", report=False)
    assert rows(home, "select status, error from runs") == [
        ("failed", "estimate H(label): the disk is full, /home; free space; resume with `infosedd run small`")
    ]
    again = carry_out(study, home, report=False)
    assert again.model.reused
    assert [answer.reused for answer in again.answers] == [True, True, False]


def test_an_interruption_is_recorded(study: Study, home: Home) -> None:
    def interrupted(*_: object) -> steps.Trained:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(study, home, Steps(train=interrupted), command="infosedd run small", report=False)
    status, error = rows(home, "select status, error from runs")[0]
    assert status == "interrupted" and error.startswith("train: ") and "resume with `infosedd run small`" in error
    assert list(home.locks.iterdir()) == []


def test_training_that_was_asked_to_stop_is_an_interruption(study: Study, home: Home) -> None:
    from infosedd.errors import TrainingStopped

    def stopped(*_: object) -> steps.Trained:
        raise TrainingStopped(7)

    with pytest.raises(TrainingStopped):
        carry_out(study, home, Steps(train=stopped), report=False)
    status, error = rows(home, "select status, error from runs")[0]
    assert status == "interrupted" and error.startswith("train: asked to stop")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"measures": [{"x": "promoter", "y": "label"}]},
            ["no block is called 'promoter'", "measure 0", "x, label"],
        ),
        ({"measures": [{"x": "x[3:9]", "y": "label"}]}, ["out of range", "positions 0 to 5"]),
        ({"measures": [{"x": "x", "y": "x[0]"}]}, ["overlap"]),
        ({"measures": [{"x": "x", "y": "label", "mode": "keep", "window": 7}]}, ["window of 7", "6 positions"]),
        ({"measures": [{"x": "x[0:2]+x[4:6]", "y": "label", "mode": "keep", "window": 2}]}, ["slides over one run"]),
        (
            {"measures": [{"x": "label+x[1:]", "y": "x[0]", "mode": "keep", "window": 2}]},
            ["slides over one run of positions of one block, not over 'label+x[1:]'"],
        ),
        ({"measures": [{"x": "x", "y": "label", "mode": "remove", "window": 6}]}, ["nothing is left of 'x'"]),
        (
            {"measures": [{"x": "x[1:5]", "y": "x[0]", "z": "x[5]", "mode": "remove", "window": 4}]},
            ["nothing is left of 'x[1:5]'", "smaller window"],
        ),
        ({"sites": [{"name": "far", "block": "x", "start": 4, "stop": 9}]}, ["site 'far'", "0 to 5"]),
        ({"model": {"proces": "uniform"}}, ["no option 'proces'", "did you mean 'process'"]),
        ({"model": {"training": {"stps": 3}}}, ["'stps'", "did you mean 'steps'"]),
        ({"model": {"folds": 1}}, ["'folds'", "greater than or equal to 2"]),
        ({"model": {"queries": [{"noised": "lable"}]}}, ["'lable'"]),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_stored(
    table: Path, home: Home, changes: dict, words: list[str]
) -> None:
    study = study_of(table, **changes)
    with pytest.raises(InputError) as caught:
        steps.ingest(study, home)
    for word in words:
        assert word in str(caught.value)
    assert not home.corpora.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("x,label\n", ["row"]),
        ("x,lable\nACGTAC,A\n", ["label"]),
        ("x,label\n" + "ACGTAC,A\nACGTA,A\n" * 50, ["length"]),
        ("x,label\n" + "ACGTAC,A\nACGTNC,A\n" * 50, ["'N'"]),
        ("x,label\n" + "ACGTAC,A\nCCGTAC,C\n" * 10, ["20 rows are too few"]),
    ],
)
def test_bad_data_is_refused_before_anything_is_stored(home: Home, tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        steps.ingest(study_of(path), home)
    for word in words:
        assert word in str(caught.value)
    assert not home.corpora.exists()


def test_a_missing_file_is_named(home: Home, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv"):
        steps.ingest(study_of(tmp_path / "none.csv"), home)


def test_the_model_is_trained_for_the_studys_questions(study: Study, home: Home) -> None:
    corpus = Corpus.load(home.corpus(steps.ingest(study, home)))
    queries_ = [dict(q) for q in training_queries(study, corpus)]
    assert queries_ == [
        {"noised": "label", "clean": "x"},
        {"noised": "label", "clean": "x", "show": "window", "window": 2, "weight": 1.73},
        {"noised": "label", "clean": ""},
    ]
    many = Corpus("many", corpus.blocks, corpus.tokens, weights=np.full(corpus.n, 100.0))
    assert "weight" not in training_queries(study, many)[1]
    window = MeasureSpec(measure="mutual_information", x="x[1:3]", y="label")
    assert asking(study, [window], corpus) == study
    wider = MeasureSpec(measure="mutual_information", x="x[1:4]", y="label")
    assert training_queries(asking(study, [wider], corpus), corpus)[3:] == ({"noised": "label", "clean": "x[1:4]"},)
    other = MeasureSpec(measure="mutual_information", x="x[0]", y="x[1:4]")
    assert len(training_queries(asking(study, [other], corpus), corpus)) == 4
    named = study.model_copy(update={"model": {**study.model, "queries": [{"noised": "label", "clean": "x"}]}})
    assert training_queries(named, corpus) == ({"noised": "label", "clean": "x"},)


def test_a_window_of_a_part_is_removed_from_the_whole_block(study: Study, home: Home) -> None:
    corpus = Corpus.load(home.corpus(steps.ingest(study, home)))

    def asked(**parts: str) -> tuple:
        spec = MeasureSpec(measure="mutual_information", mode="remove", window=2, **parts)
        return training_queries(study.model_copy(update={"measures": (spec,)}), corpus)

    removing = {"show": "all_but_window", "window": 2}
    assert asked(x="x[1:4]", y="label") == ({"noised": "label", "clean": "x", **removing},)
    assert asked(x="x[0:3]", y="x[5]", z="x[4]") == (
        {"noised": "x[5]", "clean": "x[0:4]", **removing, "given": "x[4]"},
        {"noised": "x[5]", "clean": "x[4]"},
    )
    removed = MeasureSpec(measure="mutual_information", x="x[2:6]", y="label", mode="remove", window=2, step=2)
    outcome = carry_out(study.model_copy(update={"measures": (removed,)}), home, report=False)
    first_seen = {e.x: e.nats for e in outcome.answers[0].estimates}  # the label is the first letter's, outside x
    assert set(first_seen) == {"x[2:4]", "x[4:6]"} and min(first_seen.values()) > 0.3


def test_what_is_left_without_a_window_is_printed_lowest_first(
    study: Study, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    removed = MeasureSpec(measure="mutual_information", x="x", y="label", mode="remove", window=2, step=2)
    show_answers(carry_out(study.model_copy(update={"measures": (removed,)}), home, report=False))
    said = capsys.readouterr().out
    assert "what the rest of the block carries without each of 3 windows of 2, the lowest first" in said
    assert said.index("x[0:2]") < said.index("x[2:4]")


def test_stored_answers_are_told_by_their_canonical_names(study: Study, home: Home) -> None:
    corpus = Corpus.load(home.corpus(steps.ingest(study, home)))
    spec = MeasureSpec(measure="mutual_information", x="x[ 0 : 6 ]", y="label")
    assert keys_of(spec, corpus) == [("mutual_information", "whole", "x", "label", "")]
    conditional = MeasureSpec(measure="mutual_information", x="x[0]", y="label", z="x[1:]")
    assert keys_of(conditional, corpus) == [("conditional_mutual_information", "whole", "x[0]", "label", "x[1:6]")]
    single = replace_window(study.measures[1], 1)
    assert [key[2] for key in keys_of(single, corpus)] == ["x[0]", "x[2]", "x[4]"]


def replace_window(spec: MeasureSpec, window: int) -> MeasureSpec:
    return spec.model_copy(update={"window": window})


def test_the_study_of_a_run_is_kept(study: Study, home: Home) -> None:
    from flows.launch import latest_run, study_of_run

    outcome = carry_out(study, home, questions=study.measures[:1], report=False)
    assert latest_run(home, "small") == outcome.run_id
    assert study_of_run(home, outcome.run_id) == study
    with pytest.raises(InputError, match="no completed run of study 'none'"):
        latest_run(home, "none")

    trained = carry_out(study, home, questions=(), report=False)
    assert trained.answers == ()
    checked = carry_out_checks(study, home, Wanted(only=("relabelling",)))
    assert rows(home, f"select count(*) from checks where run_id = '{checked.run_id}'") == [(1,)]
    assert latest_run(home, "small") == latest_run(home, None) == outcome.run_id


def test_a_kept_study_that_can_not_be_read_is_one_line(study: Study, home: Home) -> None:
    from flows.launch import study_of_run

    whole = study.model_dump_json()
    for text, words in (
        (whole.replace('{"name"', '{"gone":1,"name"', 1), "no option 'gone'"),
        (whole[:40], "not valid JSON"),
        ("[]", "not a JSON object"),
    ):
        home.keep_study("r1", text)
        with pytest.raises(InputError, match=words) as caught:
            study_of_run(home, "r1")
        assert "r1.json" in str(caught.value)


def test_a_question_to_a_trained_study_is_checked_before_training(study: Study, home: Home) -> None:
    from flows.launch import run_alone

    spec = MeasureSpec(x="x", y="label", mode="remove", window=6)
    with pytest.raises(InputError, match="nothing is left of 'x' when it is removed, in the question"):
        run_alone(study, (spec,), home, "")
    assert not home.models.exists()


def test_answers_survive_the_way_to_another_process(study: Study, home: Home) -> None:
    import pickle

    outcome = carry_out(study, home, questions=study.measures[:1], report=False)
    answer = pickle.loads(pickle.dumps(outcome.answers[0]))
    assert replace(answer, seconds=0.0).estimates[0].nats == outcome.answers[0].estimates[0].nats
    assert isinstance(queries.run(home.path, "select 1"), pl.DataFrame)


def test_every_example_query_runs_on_the_home_of_a_study(study: Study, home: Home) -> None:
    carry_out(study, home, report=False)
    found = {example.name: queries.run(home.path, example.sql).height for example in queries.examples()}
    assert {name for name, height in found.items() if height == 0} == {"changes", "against_truths", "summarisers"}
