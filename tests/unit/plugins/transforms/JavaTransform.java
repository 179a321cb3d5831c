import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Answers cases with Kafka Connect's own classes.
 *
 * A line of the input is one case: the class, its configuration and the key and the value of a record, each as the
 * JsonConverter reads it. The line of the answer is the case with "answer": what the JsonConverter writes of the key
 * and the value afterwards, or the class and the message of the error.
 */
public class JavaTransform {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonConverter CONVERTER = converter();
    private static final String PACKAGE = "org.apache.kafka.connect.transforms.";

    public static void main(String[] arguments) throws Exception {
        String line;
        var input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new java.io.PrintStream(System.out, true, StandardCharsets.UTF_8);
        while ((line = input.readLine()) != null) {
            ObjectNode one = (ObjectNode) JSON.readTree(line);
            try {
                one.set("answer", answer(one));
            } catch (DataException error) {
                System.err.println("left out, since it cannot be read: " + line);
                continue;
            }
            output.println(JSON.writeValueAsString(one));
        }
    }

    private static JsonNode answer(JsonNode one) throws Exception {
        SchemaAndValue key = read(one.get("key"));
        SchemaAndValue value = read(one.get("value"));
        try {
            SinkRecord record = new SinkRecord(
                "topic", 0, key.schema(), key.value(), value.schema(), value.value(), 0);
            SinkRecord changed = transformation(one).apply(record);
            ArrayNode sides = JSON.createArrayNode();
            sides.add(written(changed.keySchema(), changed.key()));
            sides.add(written(changed.valueSchema(), changed.value()));
            return sides;
        } catch (RuntimeException error) {
            return error(error);
        }
    }

    @SuppressWarnings("unchecked")
    private static Transformation<SinkRecord> transformation(JsonNode one) throws Exception {
        var kind = Class.forName(PACKAGE + one.get("class").asText());
        var made = (Transformation<SinkRecord>) kind.getDeclaredConstructor().newInstance();
        Map<String, String> config = new TreeMap<>();
        one.get("config").fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
        made.configure(config);
        return made;
    }

    private static SchemaAndValue read(JsonNode envelope) throws Exception {
        if (envelope == null || envelope.isNull()) {
            return SchemaAndValue.NULL;
        }
        return CONVERTER.toConnectData("topic", JSON.writeValueAsBytes(envelope));
    }

    private static JsonNode written(org.apache.kafka.connect.data.Schema schema, Object value) throws Exception {
        try {
            byte[] text = CONVERTER.fromConnectData("topic", schema, value);
            return text == null ? JSON.nullNode() : JSON.readTree(text);
        } catch (RuntimeException error) {
            return JSON.createObjectNode().put("unwritable", true);
        }
    }

    private static JsonNode error(RuntimeException error) {
        String kind = error.getClass().getSimpleName();
        return JSON.createObjectNode().put("error", kind).put("message", error.getMessage());
    }

    private static JsonConverter converter() {
        JsonConverter made = new JsonConverter();
        made.configure(Map.of("schemas.enable", "true", "replace.null.with.default", "false"), false);
        return made;
    }
}
