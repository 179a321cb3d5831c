"""Configuration: a key is declared once; parsing, validation, REST and documentation read the declaration.

`ConfigDef` is Kafka's class of that name: `kind` holds its small enumerations, `config_key` one key,
`parser` its rules from text to value, `validator` its ready-made checks, `definition` the class itself
and `check` its validation of a whole configuration. `settings` is the declarative way to the same.
Messages are Kafka Connect 4.3.1's, letter by letter, because clients show and compare them.
"""
