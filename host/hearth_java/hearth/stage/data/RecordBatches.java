package hearth.stage.data;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;

/** Records as the bodies of frames: one batch of each kind. */
public final class RecordBatches {
    private RecordBatches() {
    }

    /** Returns a body for each kind of records; {@code rows} numbers the records, null if only several kinds need numbers. */
    public static List<byte[]> write(List<? extends ConnectRecord<?>> records, int[] rows) {
        Map<Kind, List<Integer>> kinds = kinds(records);
        boolean isNumbered = rows != null || kinds.size() > 1;
        List<byte[]> bodies = new ArrayList<>();
        kinds.forEach((kind, places) -> bodies.add(write(kind, records, places, isNumbered ? rows : null, isNumbered)));
        return bodies;
    }

    static Map<Kind, List<Integer>> kinds(List<? extends ConnectRecord<?>> records) {
        Map<Map<?, ?>, String> partitions = new IdentityHashMap<>();
        Map<Kind, List<Integer>> kinds = new LinkedHashMap<>();
        ConnectRecord<?> before = null;
        List<Integer> places = null;
        for (int place = 0; place < records.size(); place++) {
            ConnectRecord<?> record = records.get(place);
            if (before == null || !isAlike(before, record)) {
                places = kinds.computeIfAbsent(Kind.of(record, partitions), kind -> new ArrayList<>());
            }
            places.add(place);
            before = record;
        }
        return kinds;
    }

    /** Returns whether two records share the very objects that a kind is made of. */
    private static boolean isAlike(ConnectRecord<?> one, ConnectRecord<?> other) {
        boolean sameParts = one.topic() == other.topic() && one.keySchema() == other.keySchema() && one.valueSchema() == other.valueSchema();
        if (!sameParts) {
            return false;
        }
        if (one instanceof SourceRecord source) {
            return source.sourcePartition() == ((SourceRecord) other).sourcePartition();
        }
        return ((SinkRecord) one).timestampType() == ((SinkRecord) other).timestampType()
            && ((SinkRecord) one).originalTopic() == ((SinkRecord) other).originalTopic();
    }

    private static byte[] write(Kind kind, List<? extends ConnectRecord<?>> records, List<Integer> places, int[] rows, boolean isNumbered) {
        List<ConnectRecord<?>> own = new ArrayList<>(places.size());
        places.forEach(place -> own.add(records.get(place)));
        ConnectRecord<?> first = own.get(0);
        BatchWriter batch = new BatchWriter(kind.topic(), kind.keyText(), kind.valueText());
        batch.sourcePartition = kind.partition();
        batch.timestampType = kind.timestampType();
        batch.originalTopic = kind.originalTopic();
        batch.column("value", first.valueSchema(), column(own, ConnectRecord::value));
        batch.optional("key", first.keySchema(), column(own, ConnectRecord::key));
        batch.optional("partition", Schema.OPTIONAL_INT32_SCHEMA, column(own, ConnectRecord::kafkaPartition));
        batch.optional("timestamp", Schema.OPTIONAL_INT64_SCHEMA, column(own, ConnectRecord::timestamp));
        if (own.stream().anyMatch(record -> !record.headers().isEmpty())) {
            batch.headers(HeaderColumn.texts(own));
        }
        if (first instanceof SourceRecord) {
            batch.optional("source_offset", Schema.OPTIONAL_STRING_SCHEMA,
                column(own, record -> OffsetJson.write(((SourceRecord) record).sourceOffset())));
        } else {
            batch.column("offset", Schema.INT64_SCHEMA, column(own, record -> ((SinkRecord) record).kafkaOffset()));
            batch.optional("original_partition", Schema.OPTIONAL_INT32_SCHEMA,
                column(own, record -> ((SinkRecord) record).originalKafkaPartition()));
            batch.column("original_offset", Schema.INT64_SCHEMA, column(own, record -> ((SinkRecord) record).originalKafkaOffset()));
        }
        if (isNumbered) {
            Object[] numbers = new Object[places.size()];
            for (int index = 0; index < numbers.length; index++) {
                numbers[index] = rows == null ? places.get(index) : (Integer) rows[places.get(index)];
            }
            batch.column("row", Schema.INT32_SCHEMA, numbers);
        }
        return batch.bytes();
    }

    private static Object[] column(List<ConnectRecord<?>> records, Function<ConnectRecord<?>, Object> part) {
        Object[] values = new Object[records.size()];
        for (int row = 0; row < values.length; row++) {
            values[row] = part.apply(records.get(row));
        }
        return values;
    }
}
