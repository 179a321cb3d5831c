"""Kafka Connect's transformations and predicates.

Each transformation has two forms: `apply` works on one record and is the plain reference, `apply_batch` works on
Arrow columns. The columns are for structs; everything else, data without schema above all, is `NotImplemented` there
and left to `apply`, and so is a batch in which a record fails, since only `apply` knows what is wrong.
`side` is the difference between the variants for key and value, `field_path` finds fields, `struct_column` takes
structs apart and puts them together (with Arrow, which the first batch loads), `requirement` words what Kafka Connect
says about wrong data, `date_format` prints and reads times by Java's patterns.
"""

VERSION = "4.3.1"
"""The version of Kafka Connect whose classes these are, which is the version users see."""
