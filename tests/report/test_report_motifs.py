"""Known motifs on the page: over the profile, in a table, in a CSV file; a file that is gone is said, not fatal."""

from pathlib import Path

import polars as pl
import pytest

from flows.report import write_report
from flows.report.page import read_context
from flows.report.tables import tables
from flows.study import Motifs, Study
from infosedd.errors import InputError
from tests.report.report_homes import RUN, promoter_home

HOSTILE_NAME = "<img/src=x/onerror=alert(1)>&$x_1$"


def matrix(name: str, letters: str) -> str:
    """A JASPAR matrix of twenty sites that are all the same."""
    rows = [f"{base} [ {' '.join('20' if base == letter else '0' for letter in letters)} ]" for base in "ACGT"]
    return "\n".join([f">M {name}", *rows, ""])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return promoter_home(tmp_path_factory.mktemp("home"))


@pytest.fixture
def motifs(tmp_path: Path) -> Motifs:
    """The rows of `high` have mostly C at 8 to 11, those of `low` mostly A."""
    (tmp_path / "known.jaspar").write_text(matrix(HOSTILE_NAME, "CCCC") + matrix("stray", "GATCGATC"))
    return Motifs(path=str(tmp_path / "known.jaspar"))


@pytest.fixture
def study(motifs: Motifs) -> Study:
    return Study(name="promoters", measures=[{"x": "promoter", "y": "label"}], motifs=motifs)


def test_a_motif_is_marked_where_the_rows_have_it(home: Path, study: Study) -> None:
    context = read_context(home, RUN, study)
    assert context.motifs is not None and context.motifs.block == "promoter"
    (site,) = context.sites("promoter")
    assert (site.name, site.start, site.stop) == (HOSTILE_NAME, 8, 12)
    assert context.known_sites("promoter") == () and context.sites("other") == ()
    (table,) = [table for table in tables(context) if table.slug == "motifs"]
    first, last = table.rows
    assert first[:3] == (HOSTILE_NAME, "CCCC", "8 to 11") and last[0] == "stray"
    assert first[-1] == "0.308"  # the made-up profile is 0.3 + 0.008 nats in the window that starts at 8


def test_the_page_shows_a_hostile_name_as_text_and_gives_the_rows(home: Path, study: Study) -> None:
    page = write_report(home, RUN, study=study)
    text = page.read_text()
    assert "<img/src" not in text and "&lt;img/src=x/onerror=alert(1)&gt;&amp;$x_1$" in text
    rows = pl.read_csv(page.parent / "motifs-promoter-4.csv")
    assert rows["name"].to_list() == [HOSTILE_NAME, "stray"]
    assert rows["start"][0] == 8 and rows["n_there"][0] > rows["by_chance"][0]
    assert "Motifs of known.jaspar are marked" in text
    assert "&lt;img/src" in (page.parent / "profile-promoter-4.svg").read_text()


def test_a_file_that_is_gone_is_said_and_one_that_is_asked_for_is_an_error(home: Path, study: Study) -> None:
    gone = study.model_copy(update={"motifs": Motifs(path="gone.jaspar")})
    context = read_context(home, RUN, gone)
    assert context.motifs is None
    assert any("known motifs are left out" in text and "gone.jaspar" in text for text in context.missing)
    with pytest.raises(InputError, match="no such file"):
        read_context(home, RUN, study, Motifs(path="gone.jaspar"))


def test_motifs_that_the_rows_do_not_agree_on_are_listed_but_not_drawn(
    home: Path, study: Study, tmp_path: Path
) -> None:
    (tmp_path / "stray.jaspar").write_text(matrix("stray", "GATCGATC") + matrix("long", "ACGT" * 6))
    context = read_context(home, RUN, study, Motifs(path=str(tmp_path / "stray.jaspar")))
    assert context.sites("promoter") == ()
    (table,) = [table for table in tables(context) if table.slug == "motifs"]
    assert len(table.rows) == 1 and "Longer than the sequences: long" in table.note
    assert context.motifs is not None and "is drawn" in context.motifs.caption
