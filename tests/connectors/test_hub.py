"""The hub connector, on data sets saved to disk; the hub itself is never asked."""

import socket
import time

import pytest

import connectors
from connectors import network
from connectors.errors import HubError
from infosedd.errors import SurroundingsError


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    root = tmp_path_factory.mktemp("hub")
    classes = datasets.Features(
        {"seq": datasets.Value("string"), "label": datasets.ClassLabel(names=["other", "promoter"])}
    )
    split = {"seq": ["ACGTAC", "ACGGGN", "aaccgg"], "label": [0, 1, 1]}
    promoters = datasets.DatasetDict({name: datasets.Dataset.from_dict(split, classes) for name in ("train", "test")})
    promoters.save_to_disk(str(root / "promoters"))
    scores = {score: [[1.0, 5.0], [2.3, 4.0]] for score in ("relevance", "coherence", "fluency", "consistency")}
    summaries = {"text": ["a b c", "d e f"], "machine_summaries": [["a b", "b"], ["d e .", "f"]], **scores}
    datasets.Dataset.from_dict(summaries).save_to_disk(str(root / "summeval"))
    ragged = {"text": ["a"], "machine_summaries": [["a", "b"]], **{score: [[1.0]] for score in scores}}
    datasets.Dataset.from_dict(ragged).save_to_disk(str(root / "ragged"))
    return root


def ingest(source, **options):
    return connectors.ingest("hub", [str(source)] if source else [], options, name="test")


def test_promoter_preset(folders):
    corpus = ingest(folders / "promoters", preset="human_nontata_promoters")
    assert {block.name: block.length for block in corpus.blocks} == {"promoter": 6, "label": 1}
    assert corpus.block("label").vocabulary.symbols == ("other", "promoter")
    assert corpus.tokens["label"][:, 0].tolist() == [0, 1, 0, 1]
    assert corpus.splits.tolist() == [0, 0, 2, 2]
    assert corpus.provenance.dropped == {"a letter outside the alphabet in seq": 2}
    assert corpus.corpus_id == ingest(folders / "promoters", preset="human_nontata_promoters").corpus_id
    assert len(corpus.provenance.source_sha256) == 64


def test_summary_preset_unrolls_the_lists(folders):
    corpus = ingest(folders / "summeval", preset="summeval")
    assert corpus.n == 4
    assert corpus.groups.tolist() == [0, 0, 1, 1]
    assert corpus.block("relevance").vocabulary.size == 4
    assert corpus.tokens["relevance"][:, 0].tolist() == [0, 3, 1, 3]
    assert corpus.block("document").vocabulary.symbols == corpus.block("summary").vocabulary.symbols


def test_options_overrule_a_preset(folders):
    text = {"column": "text", "tokenizer": "char", "lengths": "fit", "length": 3}
    corpus = ingest(folders / "summeval", preset="summeval", texts={"document": text})
    assert corpus.block("document").length == 3


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        ("promoters", {"categories": {"y": "lable"}}, "did you mean 'label'"),
        ("promoters", {"categories": {"y": "label"}, "splits": ["dev"]}, "there is no split 'dev'"),
        ("promoters", {}, "no block is given"),
        ("promoters", {"categories": {"y": "label"}, "explode": ["label"]}, "column 'label' holds no lists"),
        ("ragged", {"preset": "summeval"}, "differ in length within a row"),
        ("summeval", {"categories": {"y": "machine_summaries"}}, "holds lists"),
        ("nothing", {"categories": {"y": "label"}}, "there is no such folder"),
        ("promoters", {"preset": "human"}, "option 'preset'"),
    ],
)
def test_what_it_refuses(folders, source, options, says):
    with pytest.raises(HubError, match=says):
        ingest(folders / source, **options)


def test_no_source():
    with pytest.raises(HubError, match="no data set is given"):
        ingest(None)


def test_switched_off_hub_is_an_error_at_once(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(HubError, match="switched off by HF_HUB_OFFLINE") as caught:
        ingest(None, preset="summeval")
    assert "save_to_disk" in caught.value.remedy


def test_unreachable_hub_is_an_error_of_the_surroundings(monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    with pytest.raises(SurroundingsError, match=r"the hub at 127\.0\.0\.1 can't be reached"):
        ingest(None, preset="summeval")


def test_a_name_service_that_hangs_is_not_waited_for(monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(network, "_TIMEOUT_SECONDS", 0.05)

    def slow(*args, **kwargs):
        time.sleep(0.3)
        raise OSError("no such name")

    monkeypatch.setattr(network.socket, "create_connection", slow)
    with pytest.raises(SurroundingsError, match=r"no answer in 0\.05 seconds"):
        ingest("some/name", categories={"x": "y"})
