package sample;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Polls three records at once, as long as there is no committed offset. */
public final class CountingSource extends SourceConnector {
    @Override
    public String version() {
        return "1.2";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void start(Map<String, String> config) {
    }

    @Override
    public void stop() {
    }

    @Override
    public Class<? extends Task> taskClass() {
        return CountingTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return List.of(Map.of("topic", "t"));
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> config) {
        return ExactlyOnceSupport.valueOf(config.get("support"));
    }

    @Override
    public boolean alterOffsets(Map<String, String> config, Map<Map<String, ?>, Map<String, ?>> offsets) {
        offsets.forEach((partition, offset) -> {
            if (offset != null && (Long) offset.get("position") < 0) {
                throw new ConnectException(partition.get("name") + " is negative");
            }
        });
        return true;
    }

    /** What a JMX client sees. */
    public interface CounterMBean {
        int getPolls();
    }

    /** Fails after its records; its number of polls is a metric and an attribute of an MBean. */
    public static final class CountingTask extends SourceTask implements CounterMBean {
        private long first;
        private int polls;

        @Override
        public String version() {
            return "1.2";
        }

        @Override
        public void start(Map<String, String> config) {
            Map<String, Object> found = context.offsetStorageReader().offset(Map.of("name", "n"));
            first = found == null ? 0 : (Long) found.get("position");
            PluginMetrics metrics = context.pluginMetrics();
            metrics.addMetric(
                metrics.metricName("polls", "calls of poll", new LinkedHashMap<>(Map.of("unit", "1"))), (Gauge<Integer>) (c, now) -> polls);
            metrics.addMetric(metrics.metricName("rate", "unknown", new LinkedHashMap<>()), (Gauge<Double>) (c, now) -> Double.NaN);
            try {
                StandardMBean bean = new StandardMBean(this, CounterMBean.class);
                ManagementFactory.getPlatformMBeanServer().registerMBean(bean, new ObjectName("sample:type=counter,id=" + System.nanoTime()));
            } catch (JMException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public int getPolls() {
            return polls;
        }

        @Override
        public List<SourceRecord> poll() {
            if (++polls > 1) {
                throw new IllegalStateException("no more");
            }
            List<SourceRecord> records = new ArrayList<>();
            for (long each = 0; each < 3; each++) {
                records.add(new SourceRecord(
                    Map.of("name", "n"), Map.of("position", first + each), "t", Schema.STRING_SCHEMA, "v" + each));
            }
            return records;
        }

        @Override
        public void stop() {
        }
    }
}
