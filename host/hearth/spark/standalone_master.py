"""Checks with Spark's own client whether a standalone master accepts this host, before Spark starts.

Spark itself retries for a minute, and its log does not mention the secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hearth.spark.address import first_answering
from hearth_api import ConnectError

AUTHENTICATE, SECRET = "spark.authenticate", "spark.authenticate.secret"
ENCRYPT = "spark.network.crypto.enabled"

FALL_BACK = "spark.network.crypto.saslFallback"

_USER = "sparkSaslUser"
_ANSWER_SECONDS = 5
_TIMEOUT = "spark.network.auth.rpcTimeout"
_DEMAND = re.compile(r"SaslMessage|challenge message")
"""The answer of a server that requires a secret to a message without one."""


class NotAdmitted(ConnectError):
    """The master answers and refuses this host."""

    code = "environment.spark.refused"


def is_on(settings: Mapping[str, str], key: str) -> bool:
    """Return whether a key of Spark is set to true."""
    return settings.get(key, "").strip().lower() == "true"


def seek_admission(jvm: Any, master: str) -> None:
    """Raise NotAdmitted if the master refuses this host; not if no master answers or it is of another kind.

    Uses the JVM's settings, which are the worker's and those of Spark's own files.
    """
    endpoint = first_answering(master)
    if endpoint is None:
        return
    settings = {pair._1(): pair._2() for pair in jvm.org.apache.spark.SparkConf().getAll()}
    if is_on(settings, "spark.ssl.rpc.enabled"):
        return
    if not is_on(settings, AUTHENTICATE):
        reason = _without_secret(_refusal(jvm, settings, endpoint))
    elif SECRET in settings:
        reason = _with_secret(_refusal(jvm, settings, endpoint, settings[SECRET]), settings)
    else:
        reason = f"{AUTHENTICATE}=true, but {SECRET} is missing: set it to the cluster's"
    if reason is not None and first_answering(master) is not None:  # a master that is stopping refuses as well
        raise NotAdmitted(f"spark.master={master} refuses this host: {reason}")


def _without_secret(refusal: str | None) -> str | None:
    if refusal is None or not _DEMAND.search(refusal):
        return None
    return f"the cluster requires a secret; set {AUTHENTICATE}=true, {ENCRYPT}=true and {SECRET} to the cluster's"


def _with_secret(refusal: str | None, settings: Mapping[str, str]) -> str | None:
    if refusal is None or "TimeoutException" in refusal:
        return None
    if is_on(settings, ENCRYPT) and _DEMAND.search(refusal):
        return f"the cluster does not encrypt; set {ENCRYPT}=true there as it is here"
    if "EOFException" in refusal:
        return f"the cluster does not require a secret; set {AUTHENTICATE}=true and {SECRET} there as they are here"
    return f"the cluster has another secret; set {SECRET} to the cluster's"


def _refusal(
    jvm: Any, settings: Mapping[str, str], endpoint: tuple[str, int], secret: str | None = None
) -> str | None:
    """Return the error of a server for Spark's first message, with or without a secret; None if it accepts."""
    from py4j.protocol import Py4JJavaError

    network = jvm.org.apache.spark.network
    conf = network.util.TransportConf("rpc", network.util.MapConfigProvider(_java_map(jvm, settings)))
    context = network.TransportContext(conf, network.server.NoOpRpcHandler(), True)
    greetings = jvm.java.util.ArrayList()
    if secret is not None:
        keys = network.sasl.ShuffleSecretManager()
        keys.registerApp(_USER, secret)
        greetings.add(network.crypto.AuthClientBootstrap(conf, _USER, keys))
    factory = context.createClientFactory(greetings)
    try:
        client = factory.createUnmanagedClient(*endpoint)
        if secret is None:
            client.sendRpcSync(jvm.java.nio.ByteBuffer.wrap(b"hello"), _ANSWER_SECONDS * 1000)
    except Py4JJavaError as error:
        return str(error)
    finally:
        factory.close()
        context.close()
    return None


def _java_map(jvm: Any, settings: Mapping[str, str]) -> Any:
    converted = jvm.java.util.HashMap()
    for key, value in settings.items():
        if key.startswith(("spark.network.", "spark.rpc.", "spark.authenticate.")):
            converted.put(key, value)
    converted.put(_TIMEOUT, f"{_ANSWER_SECONDS}s")
    return converted
