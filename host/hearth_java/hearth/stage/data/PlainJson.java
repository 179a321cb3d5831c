package hearth.stage.data;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.errors.DataException;

/** Values without schema, and the physical form of values with one, as JSON with an object of one member for types that JSON lacks. */
public final class PlainJson {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonNodeFactory NODES = new JsonNodeFactory(true);

    private PlainJson() {
    }

    /** Returns the text of a value; with a schema, that of its physical form. */
    public static String write(Schema schema, Object value) {
        return tagged(schema == null ? value : physical(schema, value)).toString();
    }

    /** Returns the value of a text made by {@link #write}. */
    public static Object read(Schema schema, String text) {
        Object plain = plain(parse(text));
        return schema == null ? plain : logical(schema, plain);
    }

    static JsonNode parse(String text) {
        try {
            return JSON.readTree(text);
        } catch (IOException error) {
            throw new DataException("a value is not JSON: " + error.getMessage(), error);
        }
    }

    /** Returns the physical form of a value; one that does not fit its schema raises a {@code DataException}. */
    static Object physical(Schema schema, Object value) {
        if (value == null || schema == null) {
            return value;
        }
        if (Logical.is(schema)) {
            return Logical.toPhysical(schema, value);
        }
        Values.check(schema, value);
        switch (schema.type()) {
            case ARRAY: {
                List<Object> items = new ArrayList<>();
                ((List<?>) value).forEach(item -> items.add(physical(schema.valueSchema(), item)));
                return items;
            }
            case MAP: {
                Map<Object, Object> pairs = new LinkedHashMap<>();
                ((Map<?, ?>) value).forEach(
                    (key, item) -> pairs.put(physical(schema.keySchema(), key), physical(schema.valueSchema(), item)));
                return pairs;
            }
            case STRUCT: {
                Struct struct = (Struct) value;
                Map<Object, Object> members = new LinkedHashMap<>();
                for (Field field : schema.fields()) {
                    members.put(field.name(), physical(field.schema(), struct.getWithoutDefault(field.name())));
                }
                return members;
            }
            default:
                return value;
        }
    }

    private static Object logical(Schema schema, Object plain) {
        if (plain == null || schema == null) {
            return plain;
        }
        switch (schema.type()) {
            case ARRAY: {
                List<Object> items = new ArrayList<>();
                ((List<?>) plain).forEach(item -> items.add(logical(schema.valueSchema(), item)));
                return items;
            }
            case MAP: {
                Map<Object, Object> pairs = new LinkedHashMap<>();
                ((Map<?, ?>) plain).forEach(
                    (key, item) -> pairs.put(logical(schema.keySchema(), key), logical(schema.valueSchema(), item)));
                return pairs;
            }
            case STRUCT: {
                Struct struct = new Struct(schema);
                for (Field field : schema.fields()) {
                    Object item = logical(field.schema(), ((Map<?, ?>) plain).get(field.name()));
                    if (item != null) {
                        struct.put(field, item);
                    }
                }
                return struct;
            }
            default:
                Object narrow = narrow(schema.type(), plain);
                return Logical.is(schema) ? Logical.fromPhysical(schema, narrow) : narrow;
        }
    }

    private static Object narrow(Schema.Type type, Object plain) {
        if (!(plain instanceof Number number)) {
            return plain;
        }
        return switch (type) {
            case INT8 -> number.byteValue();
            case INT16 -> number.shortValue();
            case INT32 -> number.intValue();
            case INT64 -> number.longValue();
            case FLOAT32 -> number.floatValue();
            case FLOAT64 -> number.doubleValue();
            default -> plain;
        };
    }

    private static JsonNode tagged(Object value) {
        if (value == null) {
            return NODES.nullNode();
        } else if (value instanceof String text) {
            return NODES.textNode(text);
        } else if (value instanceof Boolean truth) {
            return NODES.booleanNode(truth);
        } else if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return NODES.numberNode(((Number) value).longValue());
        } else if (value instanceof BigInteger whole) {
            return NODES.numberNode(whole);
        } else if (value instanceof Double || value instanceof Float) {
            return fraction((Number) value);
        } else if (value instanceof byte[] bytes) {
            return tag("@bytes", NODES.textNode(Base64.getEncoder().encodeToString(bytes)));
        } else if (value instanceof ByteBuffer buffer) {
            return tagged(Values.bytes(buffer));
        } else if (value instanceof BigDecimal decimal) {
            return tag("@decimal", NODES.textNode(decimal.toString()));
        } else if (value instanceof Date date) {
            return tag("@timestamp", NODES.numberNode(date.getTime()));
        } else if (value instanceof List<?> list) {
            ArrayNode items = NODES.arrayNode();
            list.forEach(item -> items.add(tagged(item)));
            return items;
        } else if (value instanceof Map<?, ?> map) {
            return map(map);
        } else if (value instanceof Struct struct) {
            ArrayNode parts = NODES.arrayNode().add(SchemaTexts.write(struct.schema()));
            return tag("@struct", parts.add(tagged(physical(struct.schema(), struct))));
        }
        throw new DataException(value.getClass() + " does not have corresponding schema type.");
    }

    private static JsonNode fraction(Number number) {
        double value = number.doubleValue();
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            return tag("@float", NODES.textNode(Double.toString(value)));
        }
        return number instanceof Float single ? NODES.numberNode(single.floatValue()) : NODES.numberNode(value);
    }

    private static JsonNode map(Map<?, ?> map) {
        boolean isPlain = map.keySet().stream().allMatch(key -> key instanceof String)
            && !(map.size() == 1 && ((String) map.keySet().iterator().next()).startsWith("@"));
        if (isPlain) {
            ObjectNode members = NODES.objectNode();
            map.forEach((key, item) -> members.set((String) key, tagged(item)));
            return members;
        }
        ArrayNode pairs = NODES.arrayNode();
        map.forEach((key, item) -> pairs.add(NODES.arrayNode().add(tagged(key)).add(tagged(item))));
        return tag("@map", pairs);
    }

    private static ObjectNode tag(String name, JsonNode content) {
        return NODES.objectNode().set(name, content);
    }

    /** Returns the value of a node: whole numbers as {@code Long}, longer ones as {@code BigInteger}, fractions as {@code Double}. */
    public static Object plain(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        } else if (node.isTextual()) {
            return node.textValue();
        } else if (node.isBoolean()) {
            return node.booleanValue();
        } else if (node.isIntegralNumber()) {
            return node.canConvertToLong() ? (Object) node.longValue() : node.bigIntegerValue();
        } else if (node.isNumber()) {
            return node.doubleValue();
        } else if (node.isArray()) {
            List<Object> items = new ArrayList<>(node.size());
            node.forEach(item -> items.add(plain(item)));
            return items;
        }
        if (node.size() == 1) {
            Map.Entry<String, JsonNode> only = node.properties().iterator().next();
            if (only.getKey().startsWith("@")) {
                return untagged(only.getKey(), only.getValue());
            }
        }
        Map<String, Object> members = new LinkedHashMap<>();
        node.properties().forEach(member -> members.put(member.getKey(), plain(member.getValue())));
        return members;
    }

    private static Object untagged(String tag, JsonNode content) {
        switch (tag) {
            case "@bytes":
                return Base64.getDecoder().decode(content.textValue());
            case "@decimal":
                return new BigDecimal(content.textValue());
            case "@timestamp":
                return new Date(content.longValue());
            case "@date":
                return org.apache.kafka.connect.data.Date.toLogical(org.apache.kafka.connect.data.Date.SCHEMA, content.intValue());
            case "@time":
                return Time.toLogical(Time.SCHEMA, content.intValue());
            case "@float":
                return Double.valueOf(content.textValue());
            case "@map": {
                Map<Object, Object> pairs = new LinkedHashMap<>();
                content.forEach(pair -> pairs.put(plain(pair.get(0)), plain(pair.get(1))));
                return pairs;
            }
            case "@struct":
                return logical(SchemaTexts.read(content.get(0).textValue()), plain(content.get(1)));
            default:
                throw new DataException("unknown kind of value in JSON: '" + tag + "'");
        }
    }
}
