"""The studies on promoters: what they read and ask, before anything is trained."""

from pathlib import Path

import numpy as np
import pytest

from flows.home import Home
from flows.steps import ingest
from flows.study import load_study, shipped_studies, with_source
from infosedd.corpus import Corpus
from infosedd.errors import InputError


def fasta(path: Path, n: int, length: int, seed: int) -> str:
    letters = np.array(list("ACGT"))[np.random.default_rng(seed).integers(0, 4, (n, length))]
    path.write_text("".join(f"> 6400\n{''.join(row)}\n" for row in letters))
    return str(path)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / "home")


def read(home: Home, name: str, sources: list[str], overrides: tuple[str, ...] = ()) -> Corpus:
    study = with_source(load_study(name, overrides), sources)
    return Corpus.load(home.corpus(ingest(study, home)))


def test_they_ship() -> None:
    assert {"promoters", "plant-tata", "human-promoters", "lac-promoter"} <= set(shipped_studies())


@pytest.mark.parametrize(("name", "length"), [("promoters", 81), ("promoters", 251), ("plant-tata", 251)])
def test_two_files_become_sequences_with_a_label_as_many_of_each(
    home: Home, tmp_path: Path, name: str, length: int
) -> None:
    more, fewer = fasta(tmp_path / "a.fa", 90, length, 0), fasta(tmp_path / "b.fa", 140, length, 1)
    corpus = read(home, name, [f"promoter={more}", f"non_promoter={fewer}"])
    assert {block.name: block.length for block in corpus.blocks} == {"sequence": length, "label": 1}
    assert np.bincount(corpus.tokens["label"][:, 0]).tolist() == [90, 90]
    assert (
        "90 of the 140 sequences of non_promoter were drawn, without replacement, by seed 42" in corpus.provenance.notes
    )
    unbalanced = read(home, name, [f"promoter={more}", f"non_promoter={fewer}"], ("source.options.balance=false",))
    assert unbalanced.n == 230 and not [note for note in unbalanced.provenance.notes if "drawn" in note]


def test_a_core_promoter_that_the_sequences_do_not_have_is_refused(home: Home, tmp_path: Path) -> None:
    files = [f"promoter={fasta(tmp_path / 'a.fa', 60, 81, 0)}", f"other={fasta(tmp_path / 'b.fa', 60, 81, 1)}"]
    with pytest.raises(InputError, match="sequence"):
        read(home, "plant-tata", files)


def test_without_data_or_labels_the_command_to_give_is_said(home: Home, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="study promoters comes without data") as caught:
        ingest(load_study("promoters"), home)
    assert "--source promoter=a.fa non_promoter=b.fa" in caught.value.remedy
    with pytest.raises(InputError, match="no labels to balance"):
        read(home, "promoters", [fasta(tmp_path / "a.fa", 60, 50, 0)])


def test_the_hub_switched_off_is_said_at_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="the hub is switched off by HF_HUB_OFFLINE") as caught:
        ingest(load_study("human-promoters"), home)
    assert "save_to_disk" in caught.value.remedy


def test_a_saved_copy_of_the_benchmark_is_read_with_its_test_part(home: Home, tmp_path: Path) -> None:
    import datasets

    features = datasets.Features(
        {"seq": datasets.Value("string"), "label": datasets.ClassLabel(names=["negative", "positive"])}
    )
    rng = np.random.default_rng(0)

    def part(n: int) -> datasets.Dataset:
        rows = ["".join(row) for row in np.array(list("ACGT"))[rng.integers(0, 4, (n, 251))]]
        return datasets.Dataset.from_dict({"seq": rows, "label": rng.integers(0, 2, n).tolist()}, features)

    datasets.DatasetDict({"train": part(120), "test": part(40)}).save_to_disk(str(tmp_path / "copy"))
    corpus = read(home, "human-promoters", [str(tmp_path / "copy")])
    assert [len(corpus.rows_in(name)) for name in ("training", "validation", "test")] == [120, 0, 40]
    assert corpus.block("promoter").length == 251
