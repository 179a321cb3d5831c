import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.complex.impl.UnionMapWriter;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * A stage in another language, as small as one can be: it takes over its standard input as the connection, says
 * hello, answers a ping, hands over one batch when it is given credit, and ends with the connection.
 */
public final class ForeignStage {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String VALUE_SCHEMA =
        "{\"type\":\"struct\",\"optional\":false,\"name\":\"line\",\"fields\":["
            + "{\"field\":\"id\",\"type\":\"int64\",\"optional\":false},"
            + "{\"field\":\"tags\",\"type\":\"map\",\"optional\":true,"
            + "\"keys\":{\"type\":\"string\",\"optional\":false},\"values\":{\"type\":\"int64\",\"optional\":true}}]}";

    public static void main(String[] args) throws Exception {
        SocketChannel channel = (SocketChannel) System.inheritedChannel();
        System.setIn(InputStream.nullInputStream());
        System.setOut(System.err);
        OutputStream out = Channels.newOutputStream(channel);
        DataInputStream in = new DataInputStream(Channels.newInputStream(channel));
        write(out, message("hello", Map.of("protocol", 5, "pid", ProcessHandle.current().pid())));
        for (JsonNode header = read(in); header != null; header = read(in)) {
            switch (header.path("op").asText()) {
                case "ping" -> write(out, JSON.createObjectNode().set("re", header.get("id")));
                case "source.credit" -> write(out, message("source.batches", Map.of("groups", List.of(Map.of("polled", 1)))), batch());
                default -> write(out, unknown(header));
            }
        }
    }

    private static ObjectNode message(String op, Map<String, Object> args) {
        return JSON.createObjectNode().put("op", op).set("args", JSON.valueToTree(args));
    }

    private static ObjectNode unknown(JsonNode header) {
        ObjectNode answer = JSON.createObjectNode();
        answer.set("re", header.get("id"));
        answer.putObject("error").put("kind", "plugin").put("class_name", "java.lang.IllegalArgumentException")
            .put("message", "unknown operation " + header.get("op")).put("trace", "");
        return answer;
    }

    private static void write(OutputStream out, JsonNode header, byte[]... bodies) throws Exception {
        ObjectNode whole = (ObjectNode) header;
        int rest = 0;
        for (byte[] body : bodies) {
            whole.withArray("batches").add(body.length);
            rest += body.length;
        }
        byte[] text = JSON.writeValueAsBytes(whole);
        ByteBuffer frame = ByteBuffer.allocate(8 + text.length + rest).order(ByteOrder.LITTLE_ENDIAN);
        frame.putInt(4 + text.length + rest).putInt(text.length).put(text);
        for (byte[] body : bodies) {
            frame.put(body);
        }
        out.write(frame.array());
    }

    private static JsonNode read(DataInputStream in) throws Exception {
        byte[] prefix = in.readNBytes(8);
        if (prefix.length < 8) {
            return null;
        }
        ByteBuffer lengths = ByteBuffer.wrap(prefix).order(ByteOrder.LITTLE_ENDIAN);
        byte[] rest = in.readNBytes(lengths.getInt() - 4);
        return JSON.readTree(rest, 0, lengths.getInt());
    }

    /** Three records: a whole one, one whose map is empty, and one without a map. */
    private static byte[] batch() throws Exception {
        Field id = new Field("id", FieldType.nullable(new ArrowType.Int(64, true)), null);
        Field key = new Field("key", FieldType.notNullable(new ArrowType.Utf8()), null);
        Field item = new Field("value", FieldType.nullable(new ArrowType.Int(64, true)), null);
        Field entries = new Field("entries", FieldType.notNullable(new ArrowType.Struct()), List.of(key, item));
        Field tags = new Field("tags", FieldType.nullable(new ArrowType.Map(false)), List.of(entries));
        Field value = new Field("value", FieldType.nullable(new ArrowType.Struct()), List.of(id, tags));
        Field offset = new Field("source_offset", FieldType.nullable(new ArrowType.Utf8()), null);
        ObjectNode common = JSON.createObjectNode();
        common.put("topic", "t").putNull("key_schema").put("value_schema", VALUE_SCHEMA);
        common.put("source_partition", "{\"table\":\"b\",\"server\":1}");
        common.put("timestamp_type", "CreateTime").putNull("original_topic");
        Schema schema = new Schema(List.of(value, offset), Map.of("hearth", JSON.writeValueAsString(common)));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (BufferAllocator memory = new RootAllocator(); VectorSchemaRoot root = VectorSchemaRoot.create(schema, memory)) {
            root.allocateNew();
            StructVector structs = (StructVector) root.getVector("value");
            UnionMapWriter maps = ((MapVector) structs.getChild("tags")).getWriter();
            maps.setPosition(0);
            maps.startMap();
            entry(maps, "a", 1L);
            entry(maps, "ü", null);
            maps.endMap();
            maps.setPosition(1);
            maps.startMap();
            maps.endMap();
            for (int row = 0; row < 3; row++) {
                structs.setIndexDefined(row);
                ((BigIntVector) structs.getChild("id")).setSafe(row, Long.MAX_VALUE - row);
                byte[] position = ("{\"position\":" + (Long.MAX_VALUE - row) + "}").getBytes(StandardCharsets.UTF_8);
                ((VarCharVector) root.getVector("source_offset")).setSafe(row, position);
            }
            maps.setValueCount(3);
            root.setRowCount(3);
            try (ArrowStreamWriter writer = new ArrowStreamWriter(root, null, bytes)) {
                writer.start();
                writer.writeBatch();
                writer.end();
            }
        }
        return bytes.toByteArray();
    }

    private static void entry(UnionMapWriter maps, String key, Long item) {
        maps.startEntry();
        maps.key().varChar().writeVarChar(key);
        if (item == null) {
            maps.value().bigInt().writeNull();
        } else {
            maps.value().bigInt().writeBigInt(item);
        }
        maps.endEntry();
    }
}
