import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Values;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Asks Kafka's converters, transformations and predicates. Each line of the standard input is a case as the golden files
 * hold them, without its answer; the same line with the answer goes to the standard output. Java 17 and 18 print some floats
 * with other digits than newer ones, so it takes a newer one.
 */
public final class Answers {
    private static final long DAY = 86_400_000;
    private static final long BEFORE_1 = -719_163;
    private static final long PAST_9999 = 2_932_897;
    private static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
    private static final Map<String, HeaderConverter> CONVERTERS = new HashMap<>();
    static final JsonConverter SCHEMAS = new JsonConverter();

    static {
        SCHEMAS.configure(Map.of("converter.type", "value"));
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answered = (ObjectNode) JSON.readTree(line);
            try {
                answer(answered);
            } catch (Exception | StackOverflowError error) {
                answered.put("error", error.getClass().getSimpleName());
                answered.put("message", String.valueOf(error.getMessage()));
                Throwable cause = error.getCause();
                if (cause != null && cause.getCause() == null && answered.get("op").asText().equals("read")) {
                    answered.put("cause", String.valueOf(cause.getMessage()));
                }
            }
            out.println(JSON.writeValueAsString(answered));
        }
        out.flush();
    }

    private static void answer(ObjectNode asked) throws Exception {
        switch (asked.get("op").asText()) {
            case "parse" -> parse(asked);
            case "write" -> write(asked);
            case "apply" -> apply(asked);
            case "test" -> test(asked);
            default -> read(asked);
        }
    }

    private static void parse(ObjectNode asked) {
        SchemaAndValue found = Values.parseString(asked.get("text").asText());
        if (found != null && !isHeld(found.schema(), found.value())) {
            asked.put("unheld", true);
        }
        asked.put("schema", found == null ? "-" : brief(found.schema()));
        String string = found == null ? null : Values.convertToString(found.schema(), found.value());
        if (!asked.get("text").asText().equals(string)) {
            asked.put("string", string);
        }
    }

    /**
     * Tells whether Python has such a value: no map is a key, no time of day past midnight, no day with a time of day,
     * no decimal of another scale than its schema's, and no float of 64 bits where the schema, which is that of the last
     * of several values, says 32.
     */
    static boolean isHeld(Schema schema, Object value) {
        if (value instanceof Date date) {
            long days = Math.floorDiv(date.getTime(), DAY);
            boolean isDay = days * DAY == date.getTime();
            String name = schema == null ? null : schema.name();
            boolean isMoment = "org.apache.kafka.connect.data.Timestamp".equals(name) || days < 1 || days > 9;
            return BEFORE_1 < days && days < PAST_9999 && (isDay || isMoment)
                && (!"org.apache.kafka.connect.data.Date".equals(name) || isDay)
                && (!"org.apache.kafka.connect.data.Time".equals(name) || days == 0);
        } else if (value instanceof BigDecimal number && schema != null && schema.parameters() != null) {
            return String.valueOf(number.scale()).equals(schema.parameters().get("scale"));
        } else if (value instanceof Struct struct) {
            return struct.schema().fields().stream().allMatch(
                field -> isHeld(field.schema(), struct.getWithoutDefault(field.name())));
        } else if (value instanceof Double) {
            return schema == null || schema.type() != Schema.Type.FLOAT32;
        } else if (value instanceof List<?> items) {
            return items.stream().allMatch(item -> isHeld(part(schema, false), item));
        } else if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream().allMatch(each -> !hasMap(each.getKey())
                && isHeld(part(schema, true), each.getKey()) && isHeld(part(schema, false), each.getValue()));
        }
        return true;
    }

    private static boolean hasMap(Object key) {
        return key instanceof Map || key instanceof List<?> items && items.stream().anyMatch(Answers::hasMap);
    }

    private static void write(ObjectNode asked) throws Exception {
        Schema schema = SCHEMAS.asConnectSchema(asked.get("schema"));
        Object value = build(schema, asked.get("value"));
        byte[] bytes = converter(asked).fromConnectHeader("t", "h", schema, value);
        put(asked, bytes);
    }

    private static void put(ObjectNode answered, byte[] bytes) {
        try {
            answered.put("bytes", bytes == null ? null
                : StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
        } catch (CharacterCodingException error) {
            answered.put("raw", Base64.getEncoder().encodeToString(bytes));
        }
    }

    private static void read(ObjectNode asked) throws Exception {
        byte[] bytes = null;
        if (asked.has("in64")) {
            bytes = Base64.getDecoder().decode(asked.get("in64").asText());
        } else if (asked.has("parts")) {
            StringBuilder text = new StringBuilder();
            asked.get("parts").forEach(part -> text.append(part.get(0).asText().repeat(part.get(1).asInt())));
            bytes = text.toString().getBytes(StandardCharsets.UTF_8);
        } else if (!asked.get("in").isNull()) {
            bytes = asked.get("in").asText().getBytes(StandardCharsets.UTF_8);
        }
        SchemaAndValue found = converter(asked).toConnectHeader("t", "h", bytes);
        if (found == null) {
            asked.put("javanull", true);
            return;
        }
        if (asked.has("parts")) {
            asked.put("accepted", true);
            return;
        }
        if (!isHeld(found.schema(), found.value())) {
            asked.put("unheld", true);
        }
        JsonNode schema = schema(found.schema());
        JsonNode value = form(found.value());
        asked.set("out_schema", schema);
        asked.set("out", value);
    }

    @SuppressWarnings("unchecked")
    private static void apply(ObjectNode asked) throws Exception {
        Transformation<SinkRecord> transformation = (Transformation<SinkRecord>) made(asked);
        transformation.configure(config(asked));
        if (asked.has("record")) {
            SinkRecord record = transformation.apply(record(asked.get("record")));
            asked.set("out", record == null ? JSON.nullNode() : form(record));
            if (record != null && !(isWritable(record.keySchema(), record.key())
                && isWritable(record.valueSchema(), record.value()))) {
                asked.put("unwritable", true);
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static void test(ObjectNode asked) throws Exception {
        Predicate<SinkRecord> predicate = (Predicate<SinkRecord>) made(asked);
        predicate.configure(config(asked));
        if (asked.has("record")) {
            asked.put("out", predicate.test(record(asked.get("record"))));
        }
    }

    private static Object made(ObjectNode asked) throws Exception {
        String name = "org.apache.kafka.connect.transforms." + asked.get("class").asText();
        return Class.forName(name).getDeclaredConstructor().newInstance();
    }

    private static Map<String, Object> config(ObjectNode asked) {
        Map<String, Object> config = new HashMap<>();
        asked.path("config").properties().forEach(
            each -> config.put(each.getKey(), each.getValue().isNull() ? null : each.getValue().asText()));
        return config;
    }

    private static SinkRecord record(JsonNode node) throws Exception {
        SchemaAndValue key = side(node.path("key"));
        SchemaAndValue value = side(node.path("value"));
        Long timestamp = node.hasNonNull("timestamp") ? node.get("timestamp").longValue() : null;
        SinkRecord record = new SinkRecord(node.path("topic").asText("test"), 2, key.schema(), key.value(),
            value.schema(), value.value(), 77, timestamp,
            timestamp == null ? TimestampType.NO_TIMESTAMP_TYPE : TimestampType.CREATE_TIME);
        for (JsonNode header : node.path("headers")) {
            record.headers().add(header.get(0).textValue(), side(header.get(1)));
        }
        return record;
    }

    private static SchemaAndValue side(JsonNode node) throws Exception {
        if (node.isMissingNode()) {
            return SchemaAndValue.NULL;
        }
        Schema schema = SCHEMAS.asConnectSchema(node.get("schema"));
        return new SchemaAndValue(schema, build(schema, node.get("value")));
    }

    private static ObjectNode form(SinkRecord record) {
        ObjectNode node = JSON.createObjectNode();
        if (!record.topic().equals("test")) {
            node.put("topic", record.topic());
        }
        putSide(node, "key", record.keySchema(), record.key());
        putSide(node, "value", record.valueSchema(), record.value());
        for (Header header : record.headers()) {
            node.withArray("headers").addArray().add(header.key()).add(side(header.schema(), header.value()));
        }
        return node;
    }

    private static void putSide(ObjectNode node, String name, Schema schema, Object value) {
        if (schema != null || value != null) {
            node.set(name, side(schema, value));
        }
    }

    private static ObjectNode side(Schema schema, Object value) {
        ObjectNode side = JSON.createObjectNode();
        side.set("schema", schema(schema));
        side.set("value", form(value));
        return side;
    }

    private static boolean isWritable(Schema schema, Object value) {
        if (schema == null) {
            return isHeld(null, value);
        }
        try {
            SCHEMAS.fromConnectData("t", schema, value);
            return true;
        } catch (DataException error) {
            return false;
        }
    }

    private static HeaderConverter converter(ObjectNode asked) throws Exception {
        String key = asked.get("converter") + "" + asked.get("config");
        HeaderConverter known = CONVERTERS.get(key);
        if (known == null) {
            known = (HeaderConverter) Class.forName(asked.get("converter").asText()).getDeclaredConstructor().newInstance();
            Map<String, Object> config = new HashMap<>(Map.of("converter.type", "value"));
            config.putAll(config(asked));
            known.configure(config);
            CONVERTERS.put(key, known);
        }
        return known;
    }

    static Object build(Schema schema, JsonNode form) throws Exception {
        if (form.isNull()) {
            return null;
        }
        JsonNode plain = form.get(1);
        switch (form.get(0).asText()) {
            case "i8": return (byte) plain.asInt();
            case "i16": return (short) plain.asInt();
            case "i32": return plain.asInt();
            case "i64": return plain.asLong();
            case "f32": return Float.valueOf(plain.asText());
            case "f64": return Double.valueOf(plain.asText());
            case "b": return plain.asBoolean();
            case "s": return plain.asText();
            case "bytes": return Base64.getDecoder().decode(plain.asText());
            case "dec": return new BigDecimal(plain.asText());
            case "date": return new Date(plain.asLong());
            case "arr": {
                List<Object> items = new ArrayList<>();
                for (JsonNode item : plain) {
                    items.add(build(part(schema, false), item));
                }
                return items;
            }
            case "map": {
                Map<Object, Object> entries = new LinkedHashMap<>();
                for (JsonNode pair : plain) {
                    entries.put(build(part(schema, true), pair.get(0)), build(part(schema, false), pair.get(1)));
                }
                return entries;
            }
            default: {
                Struct struct = new Struct(schema);
                for (Field field : schema.fields()) {
                    if (plain.has(field.name())) {
                        struct.put(field, build(field.schema(), plain.get(field.name())));
                    }
                }
                return struct;
            }
        }
    }

    private static Schema part(Schema schema, boolean isKey) {
        if (schema == null || schema.type() != Schema.Type.MAP && (isKey || schema.type() != Schema.Type.ARRAY)) {
            return null;
        }
        return isKey ? schema.keySchema() : schema.valueSchema();
    }

    static JsonNode form(Object value) {
        if (value == null) {
            return JSON.nullNode();
        }
        ArrayNode pair = JSON.createArrayNode();
        if (value instanceof Byte number) {
            return pair.add("i8").add(number.intValue());
        } else if (value instanceof Short number) {
            return pair.add("i16").add(number.intValue());
        } else if (value instanceof Integer number) {
            return pair.add("i32").add(number);
        } else if (value instanceof Long number) {
            return pair.add("i64").add(number);
        } else if (value instanceof Float number) {
            return pair.add("f32").add(number.toString());
        } else if (value instanceof Double number) {
            return pair.add("f64").add(number.toString());
        } else if (value instanceof Boolean is) {
            return pair.add("b").add(is);
        } else if (value instanceof String text) {
            return pair.add("s").add(text);
        } else if (value instanceof byte[] bytes) {
            return pair.add("bytes").add(Base64.getEncoder().encodeToString(bytes));
        } else if (value instanceof BigDecimal number) {
            return pair.add("dec").add(number.toString());
        } else if (value instanceof Date date) {
            return pair.add("date").add(date.getTime());
        } else if (value instanceof List<?> items) {
            ArrayNode forms = JSON.createArrayNode();
            items.forEach(item -> forms.add(form(item)));
            return pair.add("arr").add(forms);
        } else if (value instanceof Map<?, ?> map) {
            ArrayNode entries = JSON.createArrayNode();
            map.forEach((key, item) -> entries.addArray().add(form(key)).add(form(item)));
            return pair.add("map").add(entries);
        }
        ObjectNode fields = JSON.createObjectNode();
        Struct struct = (Struct) value;
        struct.schema().fields().forEach(field -> fields.set(field.name(), form(struct.getWithoutDefault(field.name()))));
        return pair.add("struct").add(fields);
    }

    static JsonNode schema(Schema schema) {
        return schema == null ? JSON.nullNode() : SCHEMAS.asJsonSchema(schema);
    }

    private static String brief(Schema schema) {
        if (schema == null) {
            return "-";
        }
        String text = schema.type().toString();
        if (schema.name() != null) {
            text += "'" + schema.name().substring(schema.name().lastIndexOf('.') + 1);
        }
        if (schema.parameters() != null) {
            text += schema.parameters();
        }
        return switch (schema.type()) {
            case ARRAY -> text + "<" + brief(schema.valueSchema()) + ">";
            case MAP -> text + "<" + brief(schema.keySchema()) + "," + brief(schema.valueSchema()) + ">";
            default -> text;
        };
    }
}
