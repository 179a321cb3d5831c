"""Configuration: each key is declared once, and parsing, validation, REST and documentation use the declaration.

`ConfigDef` follows Kafka's class of that name: `kind` holds its small enumerations, `config_key` one key, `parser` the
conversions of text to values, `validator` the ready-made validators, `definition` the class itself and `check` the
validation of a whole configuration. `settings` declares the same as class attributes. Messages are Kafka Connect
4.3.1's, to the letter, because clients show and compare them.
"""
