package hearth.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.utils.Utils;

/** The metrics that the plugins of one tenant register (KIP-877). */
final class PluginRegistry {
    private final Metrics metrics = new Metrics();
    private final List<PluginMetricsImpl> ofPlugins = new ArrayList<>();

    /** Returns the metrics of the connector or task itself. */
    PluginMetricsImpl own() {
        return of(Map.of());
    }

    /** Passes metrics to the plugin of a role if it wants any, with the tag that Kafka Connect adds. */
    void monitor(Object plugin, String role) {
        if (plugin instanceof Monitorable monitorable) {
            String[] parts = role.split("\\.", 2);
            boolean isStep = parts[0].equals("transforms") || parts[0].equals("predicates");
            String tag = parts[0].equals("transforms") ? "transformation" : isStep ? "predicate" : parts.length == 1 ? role : "converter";
            monitorable.withPluginMetrics(of(Map.of(tag, isStep ? parts[1] : parts[0])));
        }
    }

    private synchronized PluginMetricsImpl of(Map<String, String> tags) {
        PluginMetricsImpl made = new PluginMetricsImpl(metrics, tags);
        ofPlugins.add(made);
        return made;
    }

    /** Removes the metrics of plugins that are closed, whose successors may have the same. */
    synchronized void clear() {
        ofPlugins.forEach(each -> Utils.closeQuietly(each, "metrics of a plugin"));
        ofPlugins.clear();
    }

    /** Adds the metrics, and their values now. */
    void write(MetricList list) {
        metrics.metrics().forEach((name, metric) -> {
            if (!name.group().equals("kafka-metrics-count")) {
                list.add(name.group(), name.name(), name.description(), name.tags(), metric::metricValue);
            }
        });
    }
}
