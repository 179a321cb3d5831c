package hearth.stage.data;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import hearth.stage.log.Levels;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.kafka.connect.data.Schema;

/** Builds one record batch as the body of a frame: an Arrow IPC stream whose schema's metadata hold the common attributes. */
public final class BatchWriter {
    static final RootAllocator MEMORY = Levels.quietly(RootAllocator::new);
    static final String METADATA = "hearth";
    private static final ObjectMapper JSON = new ObjectMapper();

    String sourcePartition;
    String timestampType = "NoTimestampType";
    String originalTopic;
    private final String topic;
    private final String keyText;
    private final String valueText;
    private final List<Filled> columns = new ArrayList<>();
    private int count;

    /** Starts a batch with schemas as texts. */
    public BatchWriter(String topic, String keyText, String valueText) {
        this.topic = topic;
        this.keyText = keyText;
        this.valueText = valueText;
    }

    /** Adds a column with values of a schema. */
    public void column(String name, Schema given, Object[] values) {
        Schema schema = SchemaTexts.withReferences(given);
        count = values.length;
        columns.add(new Filled(Columns.field(name, schema), vector -> Columns.write(schema, vector, values)));
    }

    /** Adds a column unless all its values are null: a missing column means the same. */
    void optional(String name, Schema schema, Object[] values) {
        for (Object value : values) {
            if (value != null) {
                column(name, schema, values);
                return;
            }
        }
    }

    /** Adds headers of batches: key, schema and value, each as text. */
    public void headers(HeaderColumn.Entries entries) {
        lists(entries, List.of("key", "schema", "value"), new ArrowType.Utf8());
    }

    /** Adds raw headers: a key and bytes. */
    public void rawHeaders(HeaderColumn.Entries entries) {
        lists(entries, List.of("key", "value"), new ArrowType.Binary());
    }

    private void lists(HeaderColumn.Entries entries, List<String> names, ArrowType valueType) {
        count = entries.counts.length;
        List<Field> parts = new ArrayList<>();
        for (String name : names) {
            parts.add(new Field(name, FieldType.nullable(name.equals("value") ? valueType : new ArrowType.Utf8()), null));
        }
        Field item = new Field("item", FieldType.nullable(new ArrowType.Struct()), parts);
        Field field = new Field("headers", FieldType.nullable(new ArrowType.List()), List.of(item));
        columns.add(new Filled(field, vector -> entries.write((ListVector) vector)));
    }

    /** Returns the body. */
    public byte[] bytes() {
        List<FieldVector> vectors = new ArrayList<>();
        try {
            for (Filled each : columns) {
                FieldVector vector = each.field.createVector(MEMORY);
                vectors.add(vector);
                each.filler.fill(vector);
            }
            List<Field> fields = columns.stream().map(each -> each.field).toList();
            var schema = new org.apache.arrow.vector.types.pojo.Schema(fields, Map.of(METADATA, attributes()));
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(1 << 12);
            VectorSchemaRoot root = new VectorSchemaRoot(schema, vectors, count);
            try (ArrowStreamWriter writer = new ArrowStreamWriter(root, null, bytes)) {
                writer.start();
                writer.writeBatch();
                writer.end();
            }
            return bytes.toByteArray();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } finally {
            vectors.forEach(FieldVector::close);
        }
    }

    private String attributes() throws IOException {
        ObjectNode members = JSON.createObjectNode();
        members.put("topic", topic).put("key_schema", keyText).put("value_schema", valueText);
        members.put("source_partition", sourcePartition).put("timestamp_type", timestampType);
        return JSON.writeValueAsString(members.put("original_topic", originalTopic));
    }

    private interface Filler {
        void fill(FieldVector vector);
    }

    private record Filled(Field field, Filler filler) {
    }

    static void texts(FieldVector vector, List<?> values) {
        Columns.writeBytes((BaseVariableWidthVector) vector, values.toArray());
    }

    static StructVector structs(ListVector vector) {
        return (StructVector) vector.getDataVector();
    }
}
