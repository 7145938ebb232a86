"""Reading files of rows: csv, tsv, txt, jsonl, parquet and plain lines, each also gzipped, row by row."""

from limbeck.tables.table import Record, TableForm, read_table

__all__ = ["Record", "TableForm", "read_table"]
