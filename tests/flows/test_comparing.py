"""Comparisons: two corpora and their even mixture, divergences both ways, and what can't be compared."""

from math import log
from pathlib import Path

import numpy as np
import pytest

from flows.comparing import chosen_symbols, halves, mixture, read_sides
from flows.home import Home
from flows.launch import run_alone
from flows.pipeline import carry_out, ingest_all
from flows.study import Compare, MeasureSpec, Study, build_study, load_study, with_source
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from warehouse import queries

TINY = {
    "network": [{"kind": "pairwise", "learning_rate": 0.1}],
    "training": {"budget": "steps", "steps": 80, "batch_size": 128, "evaluate_every": 20},
    "folds": 2,
}
DNA = Vocabulary(tuple("ACGT"))
SHARES = ((0.55, 0.15, 0.15, 0.15), (0.15, 0.55, 0.15, 0.15))
EVEN = (0.25, 0.25, 0.25, 0.25)


def write_fasta(path: Path, n: int, share: tuple[float, ...], seed: int) -> Path:
    """Six letters, of which the third follows ``share``."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (n, 6))
    codes[:, 2] = rng.choice(4, n, p=share)
    rows = ["".join("ACGT"[c] for c in row) for row in codes]
    path.write_text("".join(f">{i}\n{row}\n" for i, row in enumerate(rows)))
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write_fasta(tmp_path / "mine.fa", 500, SHARES[0], 0), write_fasta(tmp_path / "other.fa", 300, SHARES[1], 1)


def study_of(files: tuple[Path, Path], *overrides: str) -> Study:
    study = load_study("compare", ["measures.2.window=2", "measures.2.step=2", *overrides], model=TINY)
    return with_source(study, [f"a={files[0]}", f"b={files[1]}"])


def small_corpus(rows: list[list[int]], **more) -> Corpus:
    codes = np.array(rows)
    return Corpus(more.pop("name", "small"), (Block("x", DNA, codes.shape[1]),), {"x": codes}, **more)


def test_a_profile_over_all_of_several_blocks_is_refused_before_training(tmp_path: Path, home: Home) -> None:
    path = tmp_path / "two.csv"
    path.write_text("a,b,label\n" + "AC,GT,p\nCA,TG,q\n" * 50)
    raw = {
        "name": "two",
        "source": {
            "connector": "table",
            "path": str(path),
            "options": {
                "sequences": {"a": {"column": "a"}, "b": {"column": "b"}}, "categories": {"label": "label"},
            },
        },
        "compare": {},
        "measures": [{"measure": "jensen_shannon_divergence", "x": "", "mode": "keep", "window": 1}],
    }  # fmt: skip
    with pytest.raises(InputError, match=r"slides over one run of positions of one block, not over 'a\+b'"):
        ingest_all(build_study(raw, (), "two"), home)


def test_two_files_are_compared_both_ways_and_by_windows(files: tuple[Path, Path], home: Home) -> None:
    study = study_of(files)
    outcome = carry_out(study, home)
    assert [part.corpus.name for part in outcome.parts] == ["mine+other", "mine+other a", "mine+other b"]
    whole, windows = outcome.parts[0].answers
    there, back = outcome.parts[1].answers[0], outcome.parts[2].answers[0]
    assert (there.against, back.against) == ("mine+other b", "mine+other a")

    p, q = map(np.array, SHARES)
    middle = (p + q) / 2
    kl = float((p * np.log(p / q)).sum())
    js = float(0.5 * (p * np.log(p / middle)).sum() + 0.5 * (q * np.log(q / middle)).sum())
    for answer, truth in ((whole, js), (there, kl), (back, kl)):
        (estimate,) = answer.estimates
        assert abs(estimate.nats - truth) < 5 * estimate.std_error + 0.05
        assert estimate.nats > 2 * estimate.std_error
    assert 0 < whole.estimates[0].nats < log(2)
    assert [e.x for e in windows.estimates] == ["sequence[0:2]", "sequence[2:4]", "sequence[4:6]"]
    assert max(windows.estimates, key=lambda e: e.nats).x == "sequence[2:4]"

    sql = """
        select e.measure, e.mode, e.y, p.name, q.name from estimates as e join corpora as p using (corpus_id)
        left join corpora as q on q.corpus_id = e.reference_corpus_id
        where estimator = 'loss_difference' and mode = 'whole' order by 1, 4
    """
    assert queries.run(home.path, sql).rows() == [
        ("jensen_shannon_divergence", "whole", "label", "mine+other", None),
        ("kl_divergence", "whole", "", "mine+other a", "mine+other b"),
        ("kl_divergence", "whole", "", "mine+other b", "mine+other a"),
    ]
    before = queries.run(home.path, "select count(*) from estimates").item()
    again = carry_out(study, home, report=False)
    assert all(part.model.reused for part in again.parts) and all(answer.reused for answer in again.answers)
    assert queries.run(home.path, "select count(*) from estimates").item() == before

    assert outcome.report is not None
    page = outcome.report.read_text()
    assert "Which positions differ" in page and "a against b" in page
    rows = (outcome.report.parent / "positions-sequence.csv").read_text().splitlines()[1:]
    assert int(max(rows, key=lambda row: float(row.split(",")[1])).split(",")[0]) == 2


def test_a_corpus_against_itself_is_no_distance_away(tmp_path: Path, home: Home) -> None:
    one = write_fasta(tmp_path / "one.fa", 400, EVEN, 0)
    outcome = carry_out(study_of((one, one), "measures.2.step=4"), home, report=False)
    assert [part.corpus.n for part in outcome.parts] == [400, 200, 200]
    assert "two random halves" in outcome.parts[1].corpus.provenance.notes[-1]
    for answer in outcome.answers:
        for e in answer.estimates:
            assert abs(e.nats) < 4 * e.std_error + 0.05, answer.spec.label


def test_halves_are_disjoint_and_keep_groups_and_splits_whole() -> None:
    rng = np.random.default_rng(0)
    groups, splits = np.repeat(np.arange(20), 3), np.repeat([0, 0, 1, 2], 15)
    corpus = small_corpus(rng.integers(0, 4, (60, 2)).tolist(), groups=groups, splits=splits)
    p, q = halves(corpus, "other", 0)
    assert p.n + q.n == 60 and (p.name, q.name) == ("small", "other")
    assert p.groups is not None and q.groups is not None and not set(p.groups) & set(q.groups)
    assert p.splits is not None and q.splits is not None and set(p.splits) == set(q.splits) == {0, 1, 2}


def test_two_points_of_a_grid_are_compared_and_a_side_is_asked_on_its_own(home: Home) -> None:
    raw = {
        "name": "temperatures",
        "source": {"connector": "ising", "options": {"length": 2, "n": 200}},
        "grid": {"temperature": [2.5, 3.0]},
        "compare": {},
        "model": TINY,
        "measures": [{"measure": "kl_divergence", "x": ""}, {"measure": "entropy", "x": "spins"}],
    }
    outcome = carry_out(build_study(raw, (), "temperatures"), home, report=False)
    assert [part.corpus.name for part in outcome.parts] == [
        "temperatures temperature=2.5",
        "temperatures temperature=3.0",
    ]
    assert [a.spec.measure for part in outcome.parts for a in part.answers] == ["kl_divergence", "entropy"] * 2
    with pytest.raises(InputError, match="3 points, a comparison takes two"):
        ingest_all(build_study(raw | {"grid": {"temperature": [1.0, 2.0, 3.0]}}, (), "temperatures"), home)


def test_each_corpus_weighs_half_in_every_part_of_the_split() -> None:
    p = small_corpus([[0, 1]] * 6, splits=np.array([0, 0, 0, 0, 1, 2]), weights=np.array([1, 1, 2, 1, 1, 1]))
    q = small_corpus([[2, 3]] * 4, splits=np.array([0, 0, 1, 2]), weights=np.array([1, 4, 3, 1]))
    mixed = mixture(p, q, "label", ("p", "q"), "both")
    assert mixed.weight_kind == "weight" and mixed.weights is not None and mixed.splits is not None
    for code in (0, 1, 2):
        rows = mixed.splits == code
        labels = mixed.tokens["label"][rows, 0]
        totals = np.bincount(labels, mixed.weights[rows])
        assert totals[0] == pytest.approx(totals[1])
    even = mixture(small_corpus([[0, 1]] * 3), small_corpus([[2, 3]] * 3), "label", ("p", "q"), "both")
    assert even.weights is None and even.groups is None


def test_groups_of_two_corpora_stay_apart_unless_they_are_shared() -> None:
    p = small_corpus([[0, 1]] * 3, groups=np.array([7, 7, 9]))
    q = small_corpus([[2, 3]] * 3, groups=np.array([7, 8, 8]))
    apart = mixture(p, q, "label", ("p", "q"), "both").groups
    assert apart is not None and list(apart) == [0, 0, 1, 2, 3, 3]
    shared = mixture(p, q, "label", ("p", "q"), "both", shared_groups=True).groups
    assert shared is not None and list(shared) == [7, 7, 9, 7, 8, 8]


def test_what_can_not_be_mixed_says_why() -> None:
    p, q = small_corpus([[0, 1]] * 3, name="short"), small_corpus([[0, 1, 2]] * 3, name="long")
    with pytest.raises(InputError, match=r"different blocks.*'short' and 'long'"):
        mixture(p, q, "label", ("p", "q"), "both")
    with pytest.raises(InputError, match="have a block 'x' already"):
        mixture(p, p, "x", ("p", "q"), "both")
    split = small_corpus([[0, 1]] * 3, splits=np.array([0, 1, 2]))
    with pytest.raises(InputError, match="fixes its split and the other does not"):
        mixture(p, split, "label", ("p", "q"), "both")
    with pytest.raises(InputError, match="'all' has no rows in test"):
        mixture(split, small_corpus([[0, 1]] * 3, name="all", splits=np.array([0, 1, 1])), "label", ("p", "q"), "both")


def test_any_block_of_one_token_tells_the_corpora_apart(table: Path) -> None:
    raw = {
        "name": "labels",
        "source": {
            "connector": "table",
            "path": str(table),
            "options": {"sequences": {"x": {"column": "x"}}, "categories": {"label": "label"}},
        },
        "measures": [{"measure": "kl_divergence", "x": ""}],
    }
    sides = read_sides(build_study(raw | {"compare": {"p": "A", "q": "T"}}, (), "labels"))
    assert (sides.p.name, sides.q.name) == ("labels A", "labels T")
    assert sides.p.blocks == sides.q.blocks and [b.name for b in sides.mixture.blocks] == ["x", "label"]
    assert sides.mixture.block("label").vocabulary.symbols == ("A", "T")
    for compare, words in (
        ({}, "4 values.*known: A, C, G, T"),
        ({"p": "A", "q": "Z"}, "no value 'Z'"),
        ({"p": "A", "q": "A"}, "both 'A'"),
        ({"block": "x"}, "6 tokens"),
        ({"block": "lable"}, "did you mean 'label'"),
    ):
        with pytest.raises(InputError, match=words):
            read_sides(build_study(raw | {"compare": compare}, (), "labels"))


def test_symbols_default_to_the_two_there_are() -> None:
    codes = np.array([[0], [1]])
    corpus = Corpus("two", (Block("label", Vocabulary(("cat", "dog")), 1),), {"label": codes})
    assert chosen_symbols(corpus, Compare()) == ("cat", "dog")
    assert chosen_symbols(corpus, Compare(p="dog")) == ("dog", "cat")
    assert chosen_symbols(corpus, Compare(q="cat")) == ("dog", "cat")


def test_two_files_without_labels_are_called_after_their_names(files: tuple[Path, Path]) -> None:
    study = with_source(load_study("compare"), [str(path) for path in files])
    assert read_sides(study).mixture.block("label").vocabulary.symbols == ("mine", "other")
    with pytest.raises(InputError, match=r"nothing to compare.*--source p=A q=B"):
        read_sides(load_study("compare"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"measure": "kl_divergence", "x": "a", "y": "b"}, "takes no other block"),
        ({"measure": "kl_divergence", "x": "a", "mode": "keep"}, "windows .* of jensen_shannon_divergence"),
        ({"measure": "entropy", "x": ""}, "entropy needs a block x"),
    ],
)
def test_a_wrong_question_says_what_it_needs(changes: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        build_study({"name": "mine", "compare": {}, "measures": [changes]}, (), "mine")


def test_divergences_need_two_corpora_and_a_whole_run(files: tuple[Path, Path], home: Home) -> None:
    with pytest.raises(InputError, match=r"compares two corpora.*\[compare\]"):
        build_study({"name": "mine", "measures": [{"measure": "kl_divergence", "x": "a"}]}, (), "mine")
    with pytest.raises(InputError, match="run it whole"):
        run_alone(study_of(files), (MeasureSpec(measure="entropy", x="sequence"),), home, "infosedd estimate")
