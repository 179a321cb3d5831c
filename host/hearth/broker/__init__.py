"""Starts a real Kafka broker on this machine: for the quickstart, for the tests and for the benchmark.

`jar` keeps a cache of the jars that `jars.txt` names and `ivy` fills it with the Ivy inside pyspark, `process`
runs one Java program that cannot outlive its owner. `java_server` makes a server of such a program, with a directory
and a port of its own; `broker` is one, `KafkaBroker`, and `apicurio` another, a schema registry. A host that is given
a Kafka cluster needs nothing of this, nor does it load it.
"""

from hearth.broker.broker import KafkaBroker

__all__ = ["KafkaBroker"]
