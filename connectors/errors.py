"""One error class a format, each an ``InputError``, so that a caller can tell which reader refused."""

from infosedd.errors import InputError


class ConnectorError(InputError):
    """A connector's name, option or source is wrong, before any format is known."""


class TableError(ConnectorError):
    """CSV, TSV, Parquet, Arrow or JSONL that can't be read as asked."""


class FastaError(ConnectorError):
    """FASTA, FASTQ, GenBank or plain sequences that can't be read as asked."""


class RegionsError(ConnectorError):
    """Regions of a genome, or the genome, that can't be read as asked."""


class MotifsError(ConnectorError):
    """Binding sites or count matrices that can't be read as asked."""


class VariantsError(ConnectorError):
    """Genotypes of a VCF file that can't be read as asked."""


class IsingError(ConnectorError):
    """A spin model that can't be drawn as asked."""


class SyntheticError(ConnectorError):
    """A task with a known answer that can't be drawn as asked."""


class TextError(ConnectorError):
    """Texts or a tokenizer that can't be read as asked."""


class HubError(ConnectorError):
    """A data set of the hub or of a local folder that can't be read as asked."""
