package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import hearth.stage.data.OffsetJson;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkConnectorContext;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceConnectorContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import org.slf4j.LoggerFactory;

/** A connector: start, task configurations and stop. */
final class ConnectorRun {
    private final Channel channel;
    private final int tenant;
    private final Plugins plugins;
    private final PluginRegistry registry;
    private Connector connector;
    private boolean startWasCalled;
    private boolean isStarted;

    ConnectorRun(Channel channel, int tenant, Plugins plugins, PluginRegistry registry) {
        this.channel = channel;
        this.tenant = tenant;
        this.plugins = plugins;
        this.registry = registry;
    }

    void load(Request request, Answer answer) {
        connector = (Connector) plugins.create(request.text("reference"));
        answer.args.put("version", connector.version());
    }

    void start(Request request) {
        connector.initialize(connector instanceof SourceConnector ? new SourceContext() : new SinkContext());
        startWasCalled = true;
        isStarted = false;
        connector.start(request.config());
        isStarted = true;
    }

    void taskConfigs(Request request, Answer answer) {
        List<Map<String, String>> configs = connector.taskConfigs(request.args.path("max").asInt());
        answer.args.set("configs", Frame.JSON.valueToTree(configs == null ? List.of() : configs));
        answer.args.put("task_class", connector.taskClass().getName());
    }

    /** Asks whether the connector accepts changed offsets; null if it does not support that. */
    void alterOffsets(Request request, Answer answer) {
        JsonNode rows = request.args.path("offsets");
        try {
            if (connector instanceof SinkConnector sink) {
                Map<TopicPartition, Long> offsets = new HashMap<>();
                rows.forEach(row -> offsets.put(
                    new TopicPartition(row.get(0).asText(), row.get(1).asInt()), row.get(2).isNull() ? null : row.get(2).asLong()));
                answer.args.put("is_seen_to", sink.alterOffsets(request.config(), offsets));
            } else {
                Map<Map<String, ?>, Map<String, ?>> offsets = new HashMap<>();
                rows.forEach(row -> offsets.put(OffsetJson.read(row.get(0)), OffsetJson.read(row.get(1))));
                answer.args.put("is_seen_to", ((SourceConnector) connector).alterOffsets(request.config(), offsets));
            }
        } catch (UnsupportedOperationException error) {
            answer.args.putNull("is_seen_to");
        }
    }

    void exactlyOnce(Request request, Answer answer) {
        SourceConnector source = (SourceConnector) connector;
        Enum<?> support;
        if (request.args.path("boundaries").asBoolean()) {
            ConnectorTransactionBoundaries found = source.canDefineTransactionBoundaries(request.config());
            support = found;
        } else {
            support = source.exactlyOnceSupport(request.config());
        }
        answer.args.put("support", support == null ? null : support.name());
    }

    void stop() {
        startWasCalled = false;
        connector.stop();
    }

    /** Stops the connector if its start was called; if that failed half-way, its stop may fail too. */
    void end() {
        if (!startWasCalled) {
            return;
        }
        startWasCalled = false;
        try {
            connector.stop();
        } catch (RuntimeException error) {
            if (isStarted) {
                throw error;
            }
            LoggerFactory.getLogger(ConnectorRun.class).debug("stopping the connector failed after its start had failed", error);
        }
    }

    private void raise(Exception error) {
        JsonNode described = Failures.describe(error);
        Answer message = new Answer();
        message.args.set("message", described.get("message"));
        message.args.set("trace", described.get("trace"));
        channel.notify(tenant, "raise_error", message);
    }

    private class SinkContext implements SinkConnectorContext {
        @Override
        public void requestTaskReconfiguration() {
            channel.notify(tenant, "task_reconfiguration", new Answer());
        }

        @Override
        public void raiseError(Exception error) {
            raise(error);
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return registry.own();
        }
    }

    private final class SourceContext extends SinkContext implements SourceConnectorContext {
        @Override
        public OffsetStorageReader offsetStorageReader() {
            return new OffsetReader(channel, tenant);
        }
    }
}
