"""Calls and notices: frozen dataclasses that both sides of a connection share.

Their members are what is sent, and their types define the codec. A call also names the dataclass of its reply:
``class Ping(Call[None], op="ping")``. A ``PluginCall`` is run on loaded plugins, or sent to the process that has them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args

from hearth_api.batch import Batch
from hearth_stage.form import codec_of

if TYPE_CHECKING:
    from hearth_execution.plugins import Plugins

R = TypeVar("R")


class Message:
    """A message; ``op`` is its name in the protocol."""

    op: ClassVar[str]

    def __init_subclass__(cls, op: str = "", **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if op:
            cls.op = op


class Notice(Message):
    """A message without an answer."""


class Call(Message, Generic[R]):
    """A message that is answered once, with an ``R``."""

    reply: ClassVar[type[Any]]

    def __init_subclass__(cls, op: str = "", **rest: Any) -> None:
        super().__init_subclass__(op=op, **rest)
        for base in cls.__orig_bases__:  # type: ignore[attr-defined]
            for kind in get_args(base):
                cls.reply = kind

    def verify(self, reply: R) -> R:
        """Return another process's reply; raises ``ValueError`` if it does not fit this call."""
        return reply


class PluginCall(Call[R]):
    """A call on the plugins of one environment, run in the process that has loaded them."""

    @abstractmethod
    def run(self, plugins: Plugins) -> R:
        """Execute the call."""


def check_count(found: int, wanted: int) -> None:
    """Raise ``ValueError`` unless a reply covers every row (invariant 3)."""
    if found != wanted:
        raise ValueError(f"it answers for {found} of {wanted} rows")


Operations = Mapping[str, type[Message]]


def operations(*kinds: type[Message]) -> Operations:
    """Return the messages of one side by their names."""
    found = {kind.op: kind for kind in kinds}
    assert len(found) == len(kinds), "two messages have the same name"
    return found


def prepare(known: Operations) -> None:
    """Create the codecs of all messages and replies, for processes that are forked from this one."""
    for kind in known.values():
        codec_of(kind)
        if issubclass(kind, Call) and kind.reply is not type(None):
            codec_of(kind.reply)


def encoded(value: Any) -> tuple[dict[str, Any], list[Batch]]:
    """Return members and bodies of a message or a reply; both empty for None."""
    return ({}, []) if value is None else codec_of(type(value)).encode(value)


def decoded(kind: type[Any], members: Any, batches: list[Batch]) -> Any:
    """Return a message or reply that another process wrote; raises ``ValueError``."""
    return None if kind is type(None) else codec_of(kind).decode(members, batches)
