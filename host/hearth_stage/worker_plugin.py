"""Plugins of the worker in a stage: an override policy, a config or token provider, a REST extension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearth_stage.call import Message
from hearth_stage.channel import MessageSender
from hearth_stage.extension_call import JudgeRequest, LoadExtension, ServeRequest
from hearth_stage.override_policy import StagePolicy
from hearth_stage.policy_call import ConfigurePolicy, JudgeOverrides
from hearth_stage.provider import StageConfigProvider, StageTokenProvider
from hearth_stage.provider_call import LoadProvider, LookUp
from hearth_stage.staged_extension import StageExtension
from hearth_stage.token_call import AskToken, LoadTokenProvider


class WorkerPlugins:
    """The worker plugins of one stage, usually one; ``configure`` does not close them."""

    def __init__(self, channel: MessageSender) -> None:
        self._policy = StagePolicy()
        self._provider = StageConfigProvider()
        self._tokens = StageTokenProvider()
        self._extension = StageExtension(channel)

    def handlers(self) -> dict[type[Message], Callable[[Any], Any]]:
        """Return the handlers by message class."""
        return {
            ConfigurePolicy: self._policy.configure,
            JudgeOverrides: self._policy.judge,
            LoadProvider: self._provider.load,
            LookUp: self._provider.get,
            LoadTokenProvider: self._tokens.load,
            AskToken: self._tokens.get,
            LoadExtension: self._extension.load,
            JudgeRequest: self._extension.judge,
            ServeRequest: self._extension.serve,
        }

    def ends(self) -> list[Callable[[], None]]:
        """Return the functions that close the plugins."""
        return [self._policy.end, self._provider.end, self._tokens.end, self._extension.end]
