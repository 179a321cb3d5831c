package org.example.pace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** The source of the bundle `pace`, in Java. */
public class PaceSource extends SourceConnector {
    static final ConfigDef CONFIG =
            new ConfigDef().define("shape", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "What records have.");
    static final int TURNS = 5;
    static final long START = 1_700_000_000_000L;
    static final String TEXT = "the quick brown fox jumps over the lazy dog, ".repeat(2);
    static final Schema SCHEMA = schema("");
    static final Schema INNER = SchemaBuilder.struct().name("inner")
            .field("count", Schema.INT64_SCHEMA).field("text", Schema.STRING_SCHEMA).build();
    static final Schema NESTED =
            SchemaBuilder.struct().name("nested").field("id", Schema.INT64_SCHEMA).field("inner", INNER).build();

    private Map<String, String> props;

    private static Schema schema(String kind) {
        SchemaBuilder builder = SchemaBuilder.struct().name("pace" + kind);
        for (String name : List.of("a", "b", "c", "d")) builder.field(name + kind, Schema.STRING_SCHEMA);
        for (String name : List.of("w", "x", "y", "z")) builder.field(name + kind, Schema.INT64_SCHEMA);
        return builder.build();
    }

    @Override public String version() { return "1.0"; }
    @Override public ConfigDef config() { return CONFIG; }
    @Override public void start(Map<String, String> props) { this.props = props; }
    @Override public Class<? extends Task> taskClass() { return PaceTask.class; }
    @Override public void stop() { }

    @Override public List<Map<String, String>> taskConfigs(int most) {
        List<Map<String, String>> configs = new ArrayList<>();
        for (int task = 0; task < most; task++) {
            Map<String, String> config = new HashMap<>(props);
            config.put("records", "" + Long.parseLong(props.get("records")) / most);
            config.put("task", "" + task);
            config.put("tasks", "" + most);
            configs.add(config);
        }
        return configs;
    }

    public static class PaceTask extends SourceTask {
        private String topic;
        private String shape;
        private Integer kafkaPartition;
        private int atOnce;
        private long left;
        private long number;
        private final List<String> topics = new ArrayList<>();
        private final List<Schema> schemas = new ArrayList<>();
        private final List<String[]> names = new ArrayList<>();

        @Override public String version() { return "1.0"; }

        @Override public void start(Map<String, String> props) {
            topic = props.get("topic");
            shape = props.get("shape");
            left = Long.parseLong(props.get("records"));
            atOnce = Integer.parseInt(props.getOrDefault("at.once", "1000"));
            for (int kind = 0; kind < Integer.parseInt(props.getOrDefault("kinds", "0")); kind++) {
                topics.add(topic + "-" + kind);
                schemas.add(schema("_" + kind));
                names.add(schemas.get(kind).fields().stream().map(Field::name).toArray(String[]::new));
            }
            kafkaPartition = props.get("tasks").equals("1") ? null : Integer.valueOf(props.get("task"));
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            int count = (int) Math.min(left, atOnce);
            if (count == 0) {
                Thread.sleep(100);
                return null;
            }
            left -= count;
            List<SourceRecord> records = new ArrayList<>(count);
            for (int row = 0; row < count; row++) records.add(make(number++));
            return records;
        }

        @Override public void stop() { }

        private SourceRecord make(long number) {
            Map<String, ?> partition = Map.of("source", "pace");
            Map<String, ?> offset = Map.of("position", number);
            Schema text = Schema.STRING_SCHEMA;
            switch (shape) {
                case "text":
                    return new SourceRecord(partition, offset, topic, kafkaPartition, text, text(number));
                case "keyed":
                    return new SourceRecord(
                            partition, offset, topic, kafkaPartition, text, "key-" + number % 1000, text, text(number),
                            START + number);
                case "headed":
                    ConnectHeaders headers = new ConnectHeaders();
                    headers.addString("trace", "trace-" + number).addString("origin", "pace");
                    return new SourceRecord(
                            partition, offset, topic, kafkaPartition, text, "key-" + number % 1000, text, text(number),
                            START + number, headers);
                case "turns":
                    String own = topic + "-" + number % TURNS;
                    return new SourceRecord(
                            Map.of("source", own), offset, own, null, text, "key-" + number % 1000, text, text(number),
                            START + number);
                case "kinds_in_turn":
                    int kind = (int) (number % topics.size());
                    String[] name = names.get(kind);
                    Struct one = new Struct(schemas.get(kind));
                    one.put(name[0], "some text").put(name[1], "text " + number).put(name[2], "more")
                            .put(name[3], "" + number % 100);
                    one.put(name[4], number).put(name[5], number * 1000).put(name[6], -number).put(name[7], 7L);
                    return new SourceRecord(partition, offset, topics.get(kind), schemas.get(kind), one);
                case "nested":
                    Struct inner = new Struct(INNER).put("count", number).put("text", "text " + number);
                    Struct outer = new Struct(NESTED).put("id", number).put("inner", inner);
                    return new SourceRecord(partition, offset, topic, NESTED, outer);
                default:
                    Struct value = new Struct(SCHEMA);
                    value.put("a", "some text").put("b", "text " + number).put("c", "more").put("d", "" + number % 100);
                    value.put("w", number).put("x", number * 1000).put("y", -number).put("z", 7L);
                    return new SourceRecord(partition, offset, topic, SCHEMA, value);
            }
        }

        private static String text(long number) { return TEXT + String.format("%07d", number); }
    }
}
