"""A connector in its stage: start, task configurations and stop, each as one call."""

from __future__ import annotations

import logging
from typing import Any

from hearth_api import (
    Connector,
    ConnectorContext,
    SinkConnector,
    SinkConnectorContext,
    SourceConnector,
    SourceConnectorContext,
    TopicPartition,
)
from hearth_execution.failure import ErrorInfo
from hearth_execution.load import load_class, version_of
from hearth_stage.channel import MessageSender
from hearth_stage.connector_call import (
    AlterOffsets,
    AskExactlyOnce,
    AskTaskConfigs,
    ConnectorLoaded,
    ExactlyOnceAnswer,
    LoadConnector,
    OffsetsAltered,
    RaiseError,
    RequestReconfiguration,
    StartConnector,
    StopConnector,
    TaskConfigs,
)
from hearth_stage.source import ChannelOffsetReader

log = logging.getLogger(__name__)


class _StageContext:
    """The context of any connector: requests to its host."""

    def __init__(self, channel: MessageSender) -> None:
        self._channel = channel

    def request_task_reconfiguration(self) -> None:
        """Ask the host to call ``task_configs`` again."""
        self._channel.notify(RequestReconfiguration())

    def raise_error(self, error: BaseException) -> None:
        """Report that the connector cannot continue."""
        info = ErrorInfo.of(error)
        self._channel.notify(RaiseError(info.message, info.trace))


class StageSourceConnectorContext(_StageContext, SourceConnectorContext):
    """The context of a source connector."""

    def offset_storage_reader(self) -> ChannelOffsetReader:
        """Return the reader of committed offsets."""
        return ChannelOffsetReader(self._channel)


class StageSinkConnectorContext(_StageContext, SinkConnectorContext):
    """The context of a sink connector."""


class StageConnector:
    """Answers the ``connector.*`` calls of the protocol."""

    def __init__(self, channel: MessageSender) -> None:
        self._channel = channel
        self._connector: Connector | None = None
        self._start_called = self._is_started = False
        """Whether the connector's start was called, and whether it returned."""

    def load(self, call: LoadConnector) -> ConnectorLoaded:
        """Create the connector; later calls use this instance."""
        self._connector = load_class(call.reference)()
        return ConnectorLoaded(version_of(self._connector))

    def start(self, call: StartConnector) -> None:
        """Initialize and start the connector."""
        connector = self._loaded()
        connector.initialize(self._context(connector))
        self._start_called, self._is_started = True, False
        connector.start(call.config)
        self._is_started = True

    def task_configs(self, call: AskTaskConfigs) -> TaskConfigs:
        """Return the task configurations, at most ``max`` of them requested."""
        connector = self._loaded()
        configs = connector.task_configs(call.max)
        task = connector.task_class()
        return TaskConfigs(configs, f"{task.__module__}.{task.__qualname__}")

    def alter_offsets(self, call: AlterOffsets) -> OffsetsAltered:
        """Ask the connector whether it accepts the changed offsets (KIP-875)."""
        connector = self._loaded()
        offsets: Any = call.offsets
        if isinstance(connector, SinkConnector):
            offsets = {TopicPartition(topic, partition): offset for topic, partition, offset in offsets}
        try:
            return OffsetsAltered(bool(connector.alter_offsets(call.config, offsets)))
        except NotImplementedError:
            return OffsetsAltered(None)

    def exactly_once(self, call: AskExactlyOnce) -> ExactlyOnceAnswer:
        """Ask the connector for its support of transactions (KIP-618)."""
        connector = self._loaded()
        ask = connector.can_define_transaction_boundaries if call.boundaries else connector.exactly_once_support
        answer = ask(call.config)
        return ExactlyOnceAnswer(None if answer is None else getattr(answer, "value", str(answer)))

    def stop(self, call: StopConnector) -> None:
        """Stop the connector."""
        self._start_called = False
        self._loaded().stop()

    def end(self) -> None:
        """Stop the connector if it runs, or if its start failed half-way; in that case its stop may fail too."""
        if not self._start_called:
            return
        self._start_called = False
        try:
            self._loaded().stop()
        except Exception:
            if self._is_started:
                raise
            log.debug("stopping the connector failed after its start had failed", exc_info=True)

    def _context(self, connector: Connector) -> ConnectorContext:
        if isinstance(connector, SourceConnector):
            return StageSourceConnectorContext(self._channel)
        return StageSinkConnectorContext(self._channel)

    def _loaded(self) -> Any:
        assert self._connector is not None, "the protocol loads a connector before it is used"
        return self._connector
