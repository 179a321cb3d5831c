package hearth.stage.data;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.source.SourceRecord;

/** A record batch that has arrived, decoded to Java's objects. */
public final class Batch {
    public final String topic;
    public final Schema keySchema;
    public final Schema valueSchema;
    public final int count;
    public final Object[] keys;
    public final Object[] values;
    public final int[] rows;
    private final String sourcePartition;
    private final String timestampType;
    private final String originalTopic;
    private final Object[] partitions;
    private final Object[] timestamps;
    private final Object[] sourceOffsets;
    private final Object[] offsets;
    private final Object[] originalPartitions;
    private final Object[] originalOffsets;
    private final Headers[] headers;
    private final RecordHeaders[] rawHeaders;

    /** Decodes a body. */
    public Batch(byte[] body) {
        try (ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(body), BatchWriter.MEMORY)) {
            VectorSchemaRoot root = reader.getVectorSchemaRoot();
            if (!reader.loadNextBatch()) {
                throw new IllegalArgumentException("not a batch: it has no record batch");
            }
            JsonNode common = PlainJson.parse(root.getSchema().getCustomMetadata().get(BatchWriter.METADATA));
            topic = common.path("topic").textValue();
            keySchema = SchemaTexts.read(common.path("key_schema").textValue());
            valueSchema = SchemaTexts.read(common.path("value_schema").textValue());
            sourcePartition = common.path("source_partition").textValue();
            timestampType = common.path("timestamp_type").asText("NoTimestampType");
            originalTopic = common.path("original_topic").textValue();
            count = root.getRowCount();
            keys = column(root, "key", keySchema);
            values = column(root, "value", valueSchema);
            partitions = column(root, "partition", Schema.OPTIONAL_INT32_SCHEMA);
            timestamps = column(root, "timestamp", Schema.OPTIONAL_INT64_SCHEMA);
            sourceOffsets = column(root, "source_offset", Schema.OPTIONAL_STRING_SCHEMA);
            offsets = column(root, "offset", Schema.OPTIONAL_INT64_SCHEMA);
            originalPartitions = column(root, "original_partition", Schema.OPTIONAL_INT32_SCHEMA);
            originalOffsets = column(root, "original_offset", Schema.OPTIONAL_INT64_SCHEMA);
            Object[] numbers = column(root, "row", Schema.OPTIONAL_INT32_SCHEMA);
            rows = new int[count];
            for (int row = 0; row < count; row++) {
                rows[row] = numbers == null ? row : (Integer) numbers[row];
            }
            ListVector lists = (ListVector) root.getVector("headers");
            boolean areRaw = lists != null && ((StructVector) lists.getDataVector()).getChild("schema") == null;
            headers = lists == null || areRaw ? null : new Headers[count];
            rawHeaders = areRaw ? new RecordHeaders[count] : null;
            for (int row = 0; row < count; row++) {
                if (headers != null) {
                    headers[row] = HeaderColumn.read(lists, row);
                } else if (areRaw) {
                    rawHeaders[row] = HeaderColumn.readRaw(lists, row);
                }
            }
        } catch (IOException error) {
            throw new IllegalArgumentException("not a batch: " + error.getMessage(), error);
        }
    }

    private Object[] column(VectorSchemaRoot root, String name, Schema schema) {
        FieldVector vector = root.getVector(name);
        return vector == null ? null : Columns.read(schema, vector, 0, root.getRowCount());
    }

    private static Object at(Object[] column, int row) {
        return column == null ? null : column[row];
    }

    /** Returns a row's headers as the header converter made or reads them. */
    public Iterable<Header> headers(int row) {
        return headers == null ? List.of() : headers[row];
    }

    /** Returns a row's headers as those of Kafka's record. */
    public RecordHeaders rawHeaders(int row) {
        return rawHeaders == null ? new RecordHeaders() : rawHeaders[row];
    }

    /** Returns the rows as source records, or as sink records that refer to what was consumed. */
    public List<ConnectRecord<?>> records(boolean isSource, ConsumedRecords consumed) {
        List<ConnectRecord<?>> records = new ArrayList<>(count);
        Map<String, Object> partition = OffsetJson.read(sourcePartition);
        boolean isNew = timestampType.equals(TimestampType.CREATE_TIME.name) && timestamps == null;
        for (int row = 0; row < count; row++) {
            Long timestamp = isNew ? (Long) System.currentTimeMillis() : (Long) at(timestamps, row);
            records.add(isSource
                ? new SourceRecord(partition, OffsetJson.read((String) at(sourceOffsets, row)), topic, (Integer) at(partitions, row),
                    keySchema, at(keys, row), valueSchema, at(values, row), timestamp, headers(row))
                : sinkRecord(row, timestamp, consumed));
        }
        return records;
    }

    private ConsumedRecord sinkRecord(int row, Long timestamp, ConsumedRecords consumed) {
        Integer partition = (Integer) at(partitions, row);
        long offset = at(offsets, row) == null ? 0 : (Long) offsets[row];
        Object firstPartition = at(originalPartitions, row);
        Object firstOffset = at(originalOffsets, row);
        return new ConsumedRecord(
            topic, partition == null ? 0 : partition, keySchema, at(keys, row), valueSchema, at(values, row), offset, timestamp,
            TimestampType.forName(timestampType), headers(row), originalTopic == null ? topic : originalTopic,
            firstPartition == null ? partition : (Integer) firstPartition, firstOffset == null ? offset : (Long) firstOffset,
            consumed, rows[row]);
    }

    /** Returns a body with one row of another body. */
    static byte[] oneRow(byte[] body, int row) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(body), BatchWriter.MEMORY)) {
            VectorSchemaRoot root = reader.getVectorSchemaRoot();
            reader.loadNextBatch();
            try (VectorSchemaRoot slice = root.slice(row, 1)) {
                VectorSchemaRoot whole = new VectorSchemaRoot(root.getSchema(), slice.getFieldVectors(), 1);
                try (ArrowStreamWriter writer = new ArrowStreamWriter(whole, null, bytes)) {
                    writer.start();
                    writer.writeBatch();
                    writer.end();
                }
            }
        } catch (IOException error) {
            throw new IllegalArgumentException("not a batch: " + error.getMessage(), error);
        }
        return bytes.toByteArray();
    }

    static int countOf(byte[] body) {
        try (ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(body), BatchWriter.MEMORY)) {
            reader.loadNextBatch();
            return reader.getVectorSchemaRoot().getRowCount();
        } catch (IOException error) {
            throw new IllegalArgumentException("not a batch: " + error.getMessage(), error);
        }
    }
}
