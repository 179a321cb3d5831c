"""Validates configurations with the order, the messages and the format of Kafka Connect.

`connector_validator` is the entry point. `framework_definition` defines the framework's keys, and `alias_key` those
that transformations and predicates add. `plugin_definition` provides the keys of plugins other than connectors, and
`plugin_validator` validates their values. `override` applies the override policy to client settings, and `result`
formats the outcome for REST.
"""
