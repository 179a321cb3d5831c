package sample;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.transforms.Transformation;

/** Drops "drop", fails on "bad", fails twice on "later" before it succeeds, and makes a tree of "tree". */
public final class Fickle<R extends ConnectRecord<R>> implements Transformation<R>, Monitorable {
    private int tries;

    @Override
    public void withPluginMetrics(PluginMetrics metrics) {
        metrics.addMetric(metrics.metricName("tries", "of the last record", new LinkedHashMap<>()), (Gauge<Integer>) (c, now) -> tries);
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("count", ConfigDef.Type.INT, ConfigDef.Importance.HIGH, "how many");
    }

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public R apply(R record) {
        if ("drop".equals(record.value())) {
            return null;
        }
        if ("bad".equals(record.value())) {
            throw new DataException("a bad record");
        }
        if ("later".equals(record.value()) && ++tries < 3) {
            throw new RetriableException("not yet");
        }
        return "tree".equals(record.value()) ? tree(record) : record;
    }

    private R tree(R record) {
        SchemaBuilder tree = SchemaBuilder.struct().name("Tree").field("name", Schema.STRING_SCHEMA);
        tree.field("children", SchemaBuilder.array(tree).optional().build());
        Struct child = new Struct(tree).put("name", "child");
        Schema schema = tree.build();
        Struct root = new Struct(schema).put("name", "root").put("children", List.of(child));
        return record.newRecord(record.topic(), record.kafkaPartition(), null, null, schema, root, record.timestamp());
    }

    @Override
    public void close() {
    }
}
