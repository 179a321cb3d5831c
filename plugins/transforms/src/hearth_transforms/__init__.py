"""Kafka Connect's transformations and predicates.

Each transformation has two forms: `apply` transforms one record and is the reference; `apply_batch` transforms Arrow
columns. A batch that has no column form is `NotImplemented` and falls back to `apply`, and so does a batch with a
failing record, since only `apply` determines the error. `side` implements the key and value variants, `field_path`
finds fields, `struct_column` splits and assembles structs (with Arrow, which the first batch loads), `requirement`
raises Kafka Connect's errors for wrong data, and `date_format` formats and parses times by Java's patterns.
"""

VERSION = "4.3.1"
"""The Kafka Connect version of the corresponding classes, shown to users as the plugin version."""
