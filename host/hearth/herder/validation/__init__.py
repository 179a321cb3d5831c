"""Checking configurations: what is wrong with one, in the order, with the messages and in the form of Kafka Connect.

`connector_validator` is the door. `framework_definition` makes the framework's keys and `alias_key` those that
transformations and predicates add; `plugin_definition` knows the keys of plugins that are no connectors and
`plugin_validator` lets them check their values; `override` judges client settings and `result` puts the outcome into
the form of REST.
"""
