"""Starts a real Kafka broker on this machine, for the quickstart, the tests and the benchmark.

`jars.txt` locks Kafka's jars. `process` runs a Java program that ends with its owner. `java_server` adds a data
directory and a port; `broker` is such a server, `KafkaBroker`, and `apicurio` another one, a schema registry. A host
with a Kafka cluster does not import this package.
"""

from hearth.broker.broker import KafkaBroker

__all__ = ["KafkaBroker"]
