"""Where Spark finds the format ``hearth``: it looks for ``DefaultSource`` in modules whose names begin so."""

from hearth.datasource.data_source import HearthDataSource as DefaultSource

__all__ = ["DefaultSource"]
