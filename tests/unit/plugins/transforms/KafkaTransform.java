import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Says what Kafka's own transformations make of the cases in a file: every case gets Java's answer, and the whole is
 * written back.
 *
 * A side with a schema is Kafka's JSON envelope; one without is {"plain": ...}, in which {"@date": n} is a
 * java.util.Date.
 */
public class KafkaTransform {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final JsonConverter CONVERTER = new JsonConverter();

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.US);
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        CONVERTER.configure(Map.of("schemas.enable", "true", "replace.null.with.default", "false"), false);
        ArrayNode cases = (ArrayNode) MAPPER.readTree(new File(arguments[0]));
        for (JsonNode each : cases) {
            ((ObjectNode) each).set("answer", answer(each));
        }
        List<String> lines = new ArrayList<>();
        cases.forEach(each -> lines.add(each.toString()));
        System.out.println("[\n" + String.join(",\n", lines) + "\n]");
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static JsonNode answer(JsonNode each) {
        ObjectNode answer = NODES.objectNode();
        try {
            String name = "org.apache.kafka.connect.transforms." + each.get("class").textValue();
            Transformation transformation = (Transformation) Class.forName(name).getDeclaredConstructor().newInstance();
            transformation.configure(MAPPER.convertValue(each.get("config"), Map.class));
            if (each.has("record")) {
                answer.set("record", written((SinkRecord) transformation.apply(read(each.get("record")))));
            }
        } catch (Exception error) {
            answer.put("error", error.getMessage());
            answer.put("class", error.getClass().getSimpleName());
        }
        return answer;
    }

    private static SinkRecord read(JsonNode node) {
        SchemaAndValue key = side(node.path("key"));
        SchemaAndValue value = side(node.path("value"));
        Long timestamp = node.hasNonNull("timestamp") ? node.get("timestamp").longValue() : null;
        SinkRecord record = new SinkRecord(node.path("topic").asText("test"), 2, key.schema(), key.value(),
            value.schema(), value.value(), 77, timestamp, TimestampType.CREATE_TIME);
        for (JsonNode header : node.path("headers")) {
            record.headers().add(header.get(0).textValue(), side(header.get(1)));
        }
        return record;
    }

    private static SchemaAndValue side(JsonNode node) {
        if (node.isMissingNode() || node.has("plain")) {
            return new SchemaAndValue(null, plain(node.path("plain")));
        }
        return CONVERTER.toConnectData("t", node.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }

    private static Object plain(JsonNode node) {
        if (node.isArray()) {
            List<Object> list = new ArrayList<>();
            node.forEach(item -> list.add(plain(item)));
            return list;
        }
        if (node.has("@date")) {
            return new Date(node.get("@date").longValue());
        }
        if (node.isObject()) {
            Map<String, Object> map = new HashMap<>();
            node.fields().forEachRemaining(entry -> map.put(entry.getKey(), plain(entry.getValue())));
            return map;
        }
        if (node.isIntegralNumber()) {
            return node.longValue();
        }
        if (node.isNumber()) {
            return node.doubleValue();
        }
        return node.isBoolean() ? (Object) node.booleanValue() : node.textValue();
    }

    private static JsonNode written(SinkRecord record) throws Exception {
        ObjectNode node = NODES.objectNode();
        if (!record.topic().equals("test")) {
            node.put("topic", record.topic());
        }
        if (record.keySchema() != null || record.key() != null) {
            node.set("key", written(record.keySchema(), record.key()));
        }
        node.set("value", written(record.valueSchema(), record.value()));
        for (Header header : record.headers()) {
            node.withArray("headers").addArray().add(header.key()).add(written(header.schema(), header.value()));
        }
        return node;
    }

    private static JsonNode written(Schema schema, Object value) throws Exception {
        if (schema != null) {
            return MAPPER.readTree(CONVERTER.fromConnectData("t", schema, value));
        }
        return NODES.objectNode().set("plain", written(value));
    }

    private static JsonNode written(Object value) {
        if (value instanceof Date date) {
            return NODES.objectNode().put("@date", date.getTime());
        }
        if (value instanceof List<?> list) {
            ArrayNode node = NODES.arrayNode();
            list.forEach(item -> node.add(written(item)));
            return node;
        }
        if (value instanceof Map<?, ?> map) {
            ObjectNode node = NODES.objectNode();
            map.forEach((name, item) -> node.set((String) name, written(item)));
            return node;
        }
        return MAPPER.valueToTree(value);
    }
}
