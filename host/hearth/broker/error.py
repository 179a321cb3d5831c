"""What can be missing on a machine that is to run a broker; each error's hint says how to get it."""

from hearth_api.errors import ConnectError


class JavaMissing(ConnectError):
    """There is no Java here that can be used."""

    code = "environment.java"


class JarsUnavailable(ConnectError):
    """The jars of Kafka are not in the cache and cannot be fetched."""

    code = "environment.jars"


class PortTaken(ConnectError):
    """Another program listens on the port that was asked for."""

    code = "environment.port"


class BrokerUnavailable(ConnectError):
    """The broker did not start, or ended by itself."""

    code = "environment.broker"
