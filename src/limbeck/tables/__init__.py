"""Reading files of rows: csv, tsv, txt, JSON, parquet and plain lines, each also gzipped, row by row."""

from limbeck.tables.formats import TableForm
from limbeck.tables.table import Record, read_table

__all__ = ["Record", "TableForm", "read_table"]
