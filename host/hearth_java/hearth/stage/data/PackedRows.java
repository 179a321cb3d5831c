package hearth.stage.data;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.source.SourceRecord;

/** Polled records of many kinds, few of each, packed row by row: a column for each kind would cost more than its rows. */
public final class PackedRows {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MOST_ROWS = 200;
    private byte[] bytes = new byte[256];
    private int size;

    private PackedRows() {
    }

    /** Returns the two bodies of packed records; null if the records are few kinds or cannot be packed. */
    public static List<byte[]> write(List<SourceRecord> records) {
        Map<Kind, List<Integer>> kinds = RecordBatches.kinds(records);
        boolean isFit = kinds.size() > 1 && records.size() <= MOST_ROWS * kinds.size();
        if (!isFit || !records.stream().allMatch(PackedRows::isPackable)) {
            return null;
        }
        int count = records.size();
        Object[] texts = new Object[kinds.size()];
        Object[] codes = new Object[count];
        int number = 0;
        for (Map.Entry<Kind, List<Integer>> each : kinds.entrySet()) {
            Kind kind = each.getKey();
            ArrayNode parts = JSON.createArrayNode().add(kind.topic()).add(kind.keyText()).add(kind.valueText()).add(kind.partition());
            texts[number] = parts.toString().getBytes(StandardCharsets.UTF_8);
            for (int place : each.getValue()) {
                codes[place] = number;
            }
            number++;
        }
        PackedRows row = new PackedRows();
        Object[] values = new Object[count];
        Object[] keys = new Object[count];
        Object[] partitions = new Object[count];
        Object[] timestamps = new Object[count];
        Object[] offsets = new Object[count];
        for (int place = 0; place < count; place++) {
            SourceRecord record = records.get(place);
            values[place] = row.packed(record.valueSchema(), record.value());
            keys[place] = row.packed(record.keySchema(), record.key());
            partitions[place] = record.kafkaPartition();
            timestamps[place] = record.timestamp();
            offsets[place] = OffsetJson.write(record.sourceOffset());
        }
        BatchWriter first = new BatchWriter(null, null, SchemaTexts.write(Schema.OPTIONAL_BYTES_SCHEMA));
        first.column("value", Schema.OPTIONAL_BYTES_SCHEMA, texts);
        BatchWriter second = new BatchWriter(null, null, SchemaTexts.write(Schema.OPTIONAL_BYTES_SCHEMA));
        second.column("kind", Schema.INT32_SCHEMA, codes);
        second.column("value", Schema.OPTIONAL_BYTES_SCHEMA, values);
        second.optional("key", Schema.OPTIONAL_BYTES_SCHEMA, keys);
        second.optional("partition", Schema.OPTIONAL_INT32_SCHEMA, partitions);
        second.optional("timestamp", Schema.OPTIONAL_INT64_SCHEMA, timestamps);
        second.optional("source_offset", Schema.OPTIONAL_STRING_SCHEMA, offsets);
        return List.of(first.bytes(), second.bytes());
    }

    private static boolean isPackable(SourceRecord record) {
        return record.topic() != null && record.headers().isEmpty()
            && (record.value() == null || SchemaTexts.isPackable(record.valueSchema()))
            && (record.key() == null || SchemaTexts.isPackable(record.keySchema()));
    }

    private byte[] packed(Schema schema, Object value) {
        if (value == null) {
            return null;
        }
        size = 0;
        put(schema, value);
        return java.util.Arrays.copyOf(bytes, size);
    }

    private void part(Schema schema, Object value) {
        number(value == null ? 0 : 1, 1);
        if (value != null) {
            put(schema, value);
        }
    }

    private void put(Schema schema, Object given) {
        Object value = Logical.is(schema) ? Logical.toPhysical(schema, given) : given;
        try {
            switch (schema.type()) {
                case INT8 -> number((Byte) value, 1);
                case INT16 -> number((Short) value, 2);
                case INT32 -> number((Integer) value, 4);
                case INT64 -> number((Long) value, 8);
                case FLOAT32 -> number(Double.doubleToRawLongBits((Float) value), 8);
                case FLOAT64 -> number(Double.doubleToRawLongBits((Double) value), 8);
                case BOOLEAN -> number((Boolean) value ? 1 : 0, 1);
                case STRING -> content(((String) value).getBytes(StandardCharsets.UTF_8));
                case BYTES -> content(Values.bytes(value));
                case ARRAY -> {
                    List<?> items = (List<?>) value;
                    number(items.size(), 4);
                    items.forEach(item -> part(schema.valueSchema(), item));
                }
                case MAP -> {
                    Map<?, ?> map = (Map<?, ?>) value;
                    number(map.size(), 4);
                    map.forEach((key, item) -> pair(schema, key, item));
                }
                default -> {
                    Values.check(schema, value);
                    for (Field field : schema.fields()) {
                        part(field.schema(), ((Struct) value).getWithoutDefault(field.name()));
                    }
                }
            }
        } catch (ClassCastException error) {
            Values.check(schema, value);
            throw new DataException("Invalid Java object for schema type " + schema.type(), error);
        }
    }

    private void pair(Schema schema, Object key, Object item) {
        if (key == null) {
            throw new DataException("a map of a record may not have a null key");
        }
        part(schema.keySchema(), key);
        part(schema.valueSchema(), item);
    }

    private void content(byte[] content) {
        number(content.length, 4);
        room(content.length);
        System.arraycopy(content, 0, bytes, size, content.length);
        size += content.length;
    }

    private void number(long value, int width) {
        room(width);
        for (int index = 0; index < width; index++) {
            bytes[size++] = (byte) (value >>> (8 * index));
        }
    }

    private void room(int more) {
        if (size + more > bytes.length) {
            bytes = java.util.Arrays.copyOf(bytes, Math.max(size + more, 2 * bytes.length));
        }
    }
}
