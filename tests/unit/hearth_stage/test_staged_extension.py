"""A REST extension in its stage: its calls, and its calls to the host."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from hearth_api import NotFoundError
from hearth_stage.channel import Channel, Request
from hearth_stage.extension_call import (
    AskConfig,
    ConnectorNames,
    ConnectorSettings,
    ExtensionLoaded,
    Filtered,
    ForwardedHealth,
    ForwardedRequest,
    ForwardedState,
    JudgeRequest,
    LoadExtension,
    ServeRequest,
)
from hearth_stage.operation import FROM_STAGE, TO_STAGE
from hearth_stage.staged_extension import StageExtension

REFERENCE = "tests.unit.rest.sample_extension:Audit"


def host(message: Any) -> Any:
    """Answer as a host with one connector."""
    if getattr(message, "connector", "c") != "c":
        raise NotFoundError("there is none")
    health = ForwardedHealth("sink", ForwardedState("RUNNING", "w:1"), {"0": ForwardedState("FAILED", "w:1", "why")})
    return {"cluster.connectors": ConnectorNames(["c"]), "cluster.health": health}.get(
        message.op, ConnectorSettings({"topic": "t"})
    )


@pytest.fixture
def extension() -> Any:
    """Provide the sample, loaded in a stage whose host is this process."""
    ours, theirs = socket.socketpair()

    def answer(request: Request) -> None:
        request.answer(host)

    channel = Channel(ours, FROM_STAGE, answer, name="host").start()
    asks = Channel(theirs, TO_STAGE, lambda _: None, name="stage").start()
    staged = StageExtension(asks)
    loaded = staged.load(LoadExtension(REFERENCE, {"audit.word": "friend"}, "cluster"))
    assert isinstance(loaded, ExtensionLoaded)
    assert (loaded.version, loaded.has_filters, loaded.resources[1]) == ("1.5", True, ("POST", "/audit/{name}/{part}"))
    yield staged
    staged.end()
    asks.close()
    channel.close()


def request(path: str, **params: str) -> ForwardedRequest:
    """Return a request with the right password."""
    return ForwardedRequest("GET", path, {}, {"x-word": "friend"}, b"", params)


def test_requests_pass_or_end(extension: StageExtension) -> None:
    """Null lets a request pass."""
    assert extension.judge(JudgeRequest(request("/"))) == Filtered(None)
    ended = extension.judge(JudgeRequest(ForwardedRequest("GET", "/p", {}, {}, b"x", {}))).response
    assert ended is not None
    assert (ended.status, ended.body, ended.headers["x-path"]) == (403, b"x", "/p")


def test_cluster_state_is_requested_from_the_host(extension: StageExtension) -> None:
    """While the extension answers a request; an unknown connector is the author API's error."""
    answer = extension.serve(ServeRequest(0, request("/audit/c", name="c"))).response
    assert answer.body == (
        b'{"all": ["c"], "type": "sink", "state": "RUNNING", "tasks": {"0": "FAILED"}, "topic": "t", '
        b'"cluster": "cluster"}'
    )
    with pytest.raises(NotFoundError, match="there is none"):
        extension.serve(ServeRequest(0, request("/audit/d", name="d")))


def test_bodies_are_sent_as_base64() -> None:
    """Anything else makes the message malformed."""
    from hearth_stage.form import codec_of

    codec = codec_of(ForwardedRequest)
    sent = ForwardedRequest("PUT", "/", {"a": ["1"]}, {}, b"\0\xff", {})
    members, _ = codec.encode(sent)
    assert members["body"] == "AP8="
    assert codec.decode(members, []) == sent
    with pytest.raises(ValueError, match="base64"):
        codec.decode({**members, "body": "?"}, [])
    assert AskConfig("c").op == "cluster.config"
