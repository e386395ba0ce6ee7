"""The fasta connector: formats, alphabets, policies, windows, labels."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

import connectors
from connectors import fasta_records
from connectors.errors import FastaError
from connectors.store import ByteStore


def ingest(sources, **options):
    return connectors.ingest("fasta", sources if isinstance(sources, list) else [sources], options, name="test")


def written(tmp_path, text, name="a.fa"):
    path = tmp_path / name
    path.write_text(text)
    return path


def texts(corpus, block="sequence"):
    return corpus.block(block).vocabulary.decode(corpus.tokens[block])


def random_fasta(rng, n, length=60, width=17):
    letters = np.array(list("ACGT"))[rng.integers(4, size=(n, length))]
    rows = ["".join(row) for row in letters]
    lines = [
        f">s{number} words\n" + "\n".join(row[i : i + width] for i in range(0, length, width))
        for number, row in enumerate(rows)
    ]
    return rows, "\n".join(lines) + "\n"


def test_lines_ids_and_order(tmp_path):
    rows, text = random_fasta(np.random.default_rng(0), 50)
    corpus = ingest(written(tmp_path, text))
    assert texts(corpus) == rows
    assert corpus.sequence_ids.to_pylist() == [f"s{number}" for number in range(50)]
    assert corpus.provenance.n_read == 50


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_chunk_borders_change_nothing(tmp_path, monkeypatch, chunk):
    rows, text = random_fasta(np.random.default_rng(1), 12, length=23, width=7)
    path = tmp_path / "a.fa"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    monkeypatch.setattr(fasta_records, "_CHUNK", max(chunk, 16))
    assert texts(ingest(path)) == rows


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_compression_is_told_by_content(tmp_path, suffix):
    rows, text = random_fasta(np.random.default_rng(2), 5)
    packers = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
    path = tmp_path / f"a.fa{suffix}"
    if suffix == ".zst":
        import pyarrow as pa

        with pa.output_stream(str(path), compression="zstd") as file:
            file.write(text.encode())
    else:
        path.write_bytes(packers.get(suffix, bytes)(text.encode()))
    assert texts(ingest(path)) == rows


def test_block_gzip_of_several_members(tmp_path):
    rows, text = random_fasta(np.random.default_rng(3), 8)
    half = len(text) // 2
    path = tmp_path / "a.fa.bgz"
    path.write_bytes(gzip.compress(text[:half].encode()) + gzip.compress(text[half:].encode()))
    assert texts(ingest(path)) == rows


def test_fastq_genbank_and_plain_agree(tmp_path):
    from Bio import SeqIO
    from Bio.Seq import Seq
    from Bio.SeqRecord import SeqRecord

    rows, _ = random_fasta(np.random.default_rng(4), 3, length=30)
    records = [SeqRecord(Seq(row), id=f"s{n}", annotations={"molecule_type": "DNA"}) for n, row in enumerate(rows)]
    for record in records:
        record.letter_annotations["phred_quality"] = [30] * 30
    SeqIO.write(records, tmp_path / "a.fastq", "fastq")
    SeqIO.write(records, tmp_path / "a.gb", "genbank")
    written(tmp_path, "\n".join(rows) + "\n", "a.txt")
    for name in ("a.fastq", "a.gb", "a.txt"):
        assert texts(ingest(tmp_path / name)) == rows
    assert connectors.guess(tmp_path / "a.txt").connector == "fasta"


@pytest.mark.parametrize(
    ("text", "alphabet"), [("ACGT", "ACGT"), ("ACGU", "ACGU"), ("MKLV", "ACDEFGHIKLMNPQRSTVWY"), ("NNAC", "ACGT")]
)
def test_alphabet_is_told(tmp_path, text, alphabet):
    corpus = ingest(written(tmp_path, f">a\n{text}\n>b\n{text}\n"), n="hide")
    assert "".join(corpus.block("sequence").vocabulary.symbols) == alphabet


def test_custom_alphabet_is_case_sensitive_where_it_has_both(tmp_path):
    corpus = ingest(written(tmp_path, ">a\nHPhp\n>b\nPPhh\n"), alphabet="HPhp")
    assert corpus.tokens["sequence"].tolist() == [[0, 1, 2, 3], [1, 1, 2, 2]]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("upper", ["ACGT", "CCCC"]),
        ("keep", ["AcgT", "CCCC"]),
        ("hide", ["A??T", "CCCC"]),
        ("drop", ["CCCC"]),
    ],
)
def test_soft_mask(tmp_path, policy, expected):
    corpus = ingest(written(tmp_path, ">a\nAcgT\n>b\nCCCC\n"), soft_mask=policy, alphabet="dna")
    assert texts(corpus) == expected


def test_each_kind_of_letter_has_its_own_policy_and_count(tmp_path):
    path = written(tmp_path, ">a\nANR-\n>b\nAC*U\n>c\nACGT\n")
    corpus = ingest(path, alphabet="dna", n="hide", ambiguous="keep", gap="keep", stop="hide", u_t="convert")
    assert texts(corpus) == ["A?R-", "AC?T", "ACGT"]
    assert corpus.block("sequence").vocabulary.symbols == ("A", "C", "G", "T", "-", "R")
    assert corpus.provenance.hidden == {"an N": 1, "a stop": 1}
    notes = " ".join(corpus.provenance.notes)
    assert "1 letters kept as read though each was a gap" in notes
    assert "1 letters kept as read though each was U for T" in notes


def test_repeated_sequences_are_counted(tmp_path):
    corpus = ingest(written(tmp_path, ">a\nACGT\n>b\nACGA\n>c\nACGT\n>d\nACGT\n"))
    assert "2 sequences repeat an earlier one" in corpus.provenance.notes


def test_a_dropped_row_counts_once(tmp_path):
    path = written(tmp_path, ">a\nNNRR\n>b\nACGT\n>c\nACGR\n")
    corpus = ingest(path, alphabet="dna")
    assert corpus.provenance.dropped == {"an N": 1, "an ambiguous letter": 1}
    assert corpus.provenance.n_read == corpus.n + corpus.provenance.n_dropped


def test_length_policies(tmp_path):
    path = written(tmp_path, ">a\nACGT\n>b\nAC\n>c\nACG\n>d\nACG\n")
    assert texts(ingest(path, lengths="crop")) == ["AC"] * 4
    assert texts(ingest(path, lengths="drop")) == ["ACG", "ACG"]
    padded = ingest(path, lengths="pad")
    assert texts(padded) == ["ACGT", "AC__", "ACG_", "ACG_"]
    assert padded.block("sequence").vocabulary.pad == "_"
    assert texts(ingest(path, lengths="pad", length=5))[0] == "ACGT_"
    with pytest.raises(FastaError, match=r"kept sequence 1 \(a\)"):
        ingest(path)


def test_windows_cover_each_record(tmp_path):
    path = written(tmp_path, ">a\nACGTACGTAC\n>b\nGGGGG\n>c\nTTT\n")
    corpus = ingest(path, window=4, window_step=3)
    assert texts(corpus) == ["ACGT", "TACG", "GTAC", "GGGG"]
    assert corpus.sequence_ids.to_pylist() == ["a:0-4", "a:3-7", "a:6-10", "b:0-4"]
    assert corpus.provenance.dropped == {"a record shorter than the window of 4": 1}
    assert corpus.provenance.n_read == 5
    assert "1 letters at the ends of records are in no window" in corpus.provenance.notes


def test_windows_are_grouped_by_record_or_stretch(tmp_path):
    many = "".join(f">r{n}\n{'ACGT' * 3}\n" for n in range(25))
    by_record = ingest(written(tmp_path, many), window=4)
    assert len(np.unique(by_record.groups)) == 25
    single = ingest(written(tmp_path, ">g\n" + "ACGT" * 100 + "\n"), window=4)
    assert np.bincount(single.groups).tolist() == [20] * 5
    chosen = ingest(tmp_path / "a.fa", window=4, group_windows=50)
    assert np.bincount(chosen.groups).tolist() == [50, 50]


def test_a_bad_letter_drops_its_window_only(tmp_path):
    corpus = ingest(written(tmp_path, ">a\nACGTNCGTACGT\n"), window=4, alphabet="dna")
    assert texts(corpus) == ["ACGT", "ACGT"]
    assert corpus.provenance.dropped == {"an N": 1}


def test_labels_from_files_balanced_by_a_seeded_draw(tmp_path):
    few = written(tmp_path, random_fasta(np.random.default_rng(5), 10)[1], "few.fa")
    many = written(tmp_path, random_fasta(np.random.default_rng(6), 40)[1], "many.fa")
    sources = [f"promoter={few}", f"other={many}"]
    corpus = ingest(sources, balance=True, seed=7)
    label = corpus.tokens["label"][:, 0]
    assert corpus.block("label").vocabulary.symbols == ("other", "promoter")
    assert np.bincount(label).tolist() == [10, 10]
    assert corpus.provenance.dropped == {"the balance of labels": 30}
    chosen = np.sort(np.random.default_rng(7).choice(40, 10, replace=False))
    ids = np.array(corpus.sequence_ids.to_pylist())
    assert ids[label == 0].tolist() == [f"s{number}" for number in chosen]
    assert ingest(sources, balance=True, seed=7).corpus_id == corpus.corpus_id
    assert ingest(sources, balance=True, seed=8).corpus_id != corpus.corpus_id


def test_labels_and_groups_from_headers(tmp_path):
    path = written(tmp_path, ">g1__reverse\nACGT\n>g2__forward\nACGA\n>g1__forward\nACGC\n>odd\nACGG\n")
    options = {"label_pattern": "__(forward|reverse)", "group_pattern": r"^(\w+?)__", "unmatched": "drop"}
    corpus = ingest(path, **options)
    assert corpus.block("label").vocabulary.symbols == ("forward", "reverse")
    assert corpus.tokens["label"][:, 0].tolist() == [1, 0, 0]
    assert corpus.groups.tolist() == [0, 1, 0]
    assert corpus.provenance.dropped == {"a header that no pattern matches": 1}


def test_reverse_complement(tmp_path):
    path = written(tmp_path, ">a\nAACG\n>b\nNRT-\n")
    options = {"n": "keep", "ambiguous": "keep", "alphabet": "dna"}
    assert texts(ingest(path, reverse_complement="replace", **options)) == ["CGTT", "-AYN"]
    both = ingest(path, reverse_complement="add", **options)
    assert both.n == 4
    assert texts(both) == ["AACG", "CGTT", "NRT-", "-AYN"]
    assert both.groups.tolist() == [0, 0, 1, 1]
    ragged = ingest(path, reverse_complement="add", window=3, window_step=1, **options)
    assert texts(ragged)[:4] == ["AAC", "GTT", "ACG", "CGT"]
    rna = ingest(written(tmp_path, ">a\nAACU\n", "r.fa"), alphabet="rna", reverse_complement="replace")
    assert texts(rna) == ["AGUU"]


def test_reverse_complement_twice_is_the_same(tmp_path):
    rows, text = random_fasta(np.random.default_rng(8), 6)
    turned = texts(ingest(written(tmp_path, text), reverse_complement="replace"))
    again = written(tmp_path, "".join(f">{n}\n{row}\n" for n, row in enumerate(turned)), "b.fa")
    assert texts(ingest(again, reverse_complement="replace")) == rows


def test_kmers(tmp_path):
    path = written(tmp_path, ">a\nACGTA\n>b\nAANTA\n")
    corpus = ingest(path, kmer=2, kmer_step=1, n="hide", alphabet="dna")
    vocabulary = corpus.block("sequence").vocabulary
    assert vocabulary.size == 16
    assert vocabulary.symbols[:5] == ("AA", "AC", "AG", "AT", "CA")
    shown = [[vocabulary.symbols[code] if code < 16 else "?" for code in row] for row in corpus.tokens["sequence"]]
    assert shown == [["AC", "CG", "GT", "TA"], ["AA", "?", "?", "TA"]]
    assert ingest(path, kmer=2, n="hide", alphabet="dna").block("sequence").length == 2


def test_kmers_with_pads(tmp_path):
    corpus = ingest(written(tmp_path, ">a\nACGT\n>b\nAC\n"), kmer=2, lengths="pad")
    vocabulary = corpus.block("sequence").vocabulary
    assert vocabulary.pad == "_"
    assert vocabulary.decode(corpus.tokens["sequence"]) == ["ACGT", "AC_"]


def test_store_spills_to_disk_and_gives_the_same_bytes():
    pieces = [np.random.default_rng(n).integers(256, size=100 + n, dtype=np.uint8) for n in range(10)]
    small, large = ByteStore(), ByteStore(in_memory=300)
    for piece in pieces:
        small.append(piece)
        large.append(piece)
    assert (small.array() == large.array()).all()
    assert isinstance(large.array(), np.memmap)


def test_corpus_from_a_spilled_store_saves_and_loads(tmp_path, monkeypatch):
    rows, text = random_fasta(np.random.default_rng(9), 30)
    whole = ingest(written(tmp_path, text))
    monkeypatch.setattr("connectors.store._IN_MEMORY", 100)
    monkeypatch.setattr(ByteStore.__init__, "__defaults__", (100,))
    spilled = ingest(tmp_path / "a.fa")
    assert spilled.corpus_id == whole.corpus_id
    loaded = type(spilled).load(spilled.save(tmp_path / "store"))
    assert texts(loaded) == rows
