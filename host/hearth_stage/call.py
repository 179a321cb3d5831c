"""Calls and notices: each a frozen dataclass, the one definition both sides of a border have of it.

Its members are what travels, and its codec is made of their types. A call names the dataclass of its reply, too:
``class Ping(Call[None], op="ping")``. One that runs on loaded plugins says how: in the process that has them it is
run, to any other it is sent.
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
    """What one side sends the other; ``op`` is its name on the wire."""

    op: ClassVar[str]

    def __init_subclass__(cls, op: str = "", **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if op:
            cls.op = op


class Notice(Message):
    """A message that is not answered."""


class Call(Message, Generic[R]):
    """A message that is answered once, with an ``R``."""

    reply: ClassVar[type[Any]]

    def __init_subclass__(cls, op: str = "", **rest: Any) -> None:
        super().__init_subclass__(op=op, **rest)
        for base in cls.__orig_bases__:  # type: ignore[attr-defined]
            for kind in get_args(base):
                cls.reply = kind

    def verify(self, reply: R) -> R:
        """Return a reply of another process; raises ``ValueError`` where it does not answer this call."""
        return reply


class PluginCall(Call[R]):
    """A call that is run on the plugins of one environment, in whichever process they are loaded."""

    @abstractmethod
    def run(self, plugins: Plugins) -> R:
        """Do what is asked for."""


def check_count(found: int, wanted: int) -> None:
    """Raise ``ValueError`` unless a reply answers for every row (invariant 3)."""
    if found != wanted:
        raise ValueError(f"it answers for {found} rows of {wanted}")


Operations = Mapping[str, type[Message]]


def operations(*kinds: type[Message]) -> Operations:
    """Return by its name on the wire all that one side may say."""
    found = {kind.op: kind for kind in kinds}
    assert len(found) == len(kinds), "two messages have one name"
    return found


def prepare(known: Operations) -> None:
    """Make all codecs of what one side may say, and of the answers, for processes that are forked from this one."""
    for kind in known.values():
        codec_of(kind)
        if issubclass(kind, Call) and kind.reply is not type(None):
            codec_of(kind.reply)


def encoded(value: Any) -> tuple[dict[str, Any], list[Batch]]:
    """Return members and bodies of a message or a reply; nothing of none."""
    return ({}, []) if value is None else codec_of(type(value)).encode(value)


def decoded(kind: type[Any], members: Any, batches: list[Batch]) -> Any:
    """Return the message or reply of a kind that another process wrote; raises ``ValueError``."""
    return None if kind is type(None) else codec_of(kind).decode(members, batches)
