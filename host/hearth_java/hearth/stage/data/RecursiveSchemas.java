package hearth.stage.data;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.json.JsonConverter;

/** Schemas as JSON for which {@code JsonConverter} has no form: of structs inside themselves, and of mixed types. */
final class RecursiveSchemas {
    private static final int MOST_DEPTH = 1000;
    private static final String REFERENCE = "reference";
    private static final String NUMBER = "number";
    private final JsonConverter converter;

    RecursiveSchemas(JsonConverter converter) {
        this.converter = converter;
    }

    /** Returns whether a schema has a struct that holds itself, by a reference or as the same object. */
    static boolean isRecursive(Schema schema) {
        return new Search().find(schema);
    }

    /** Finds the structs that are referred to, looking at each once. */
    private static final class Search {
        final Set<Identity> found = new HashSet<>();
        private final List<Identity> open = new ArrayList<>();
        private final Map<Identity, Boolean> done = new HashMap<>();

        /** Returns whether a struct below the schema is referred to. */
        boolean find(Schema schema) {
            if (schema instanceof StructReference reference) {
                if (found.add(Identity.of(reference.target()))) {
                    find(reference.target());
                }
                return true;
            }
            Identity own = schema.type() == Schema.Type.STRUCT ? Identity.of(schema) : null;
            if (own != null && open.contains(own)) {
                found.add(own);
                return true;
            }
            if (own != null && done.containsKey(own)) {
                return done.get(own);
            }
            if (open.size() >= MOST_DEPTH) {
                throw new DataException("a schema nests more than " + MOST_DEPTH + " types: " + schema.name());
            }
            boolean isFound = false;
            open.add(own);
            for (Schema part : parts(schema)) {
                isFound |= find(part);
            }
            open.remove(open.size() - 1);
            done.put(own, isFound);
            return isFound;
        }
    }

    /** Returns whether two structs are the same but for their optionality, each with other objects for its fields. */
    boolean areSame(Schema one, Schema other) {
        return (isRecursive(one) || isRecursive(other)) && struct(one).equals(struct(other));
    }

    private ObjectNode struct(Schema schema) {
        return write(schema instanceof StructReference reference ? reference.target() : schema).put("optional", false);
    }

    private static List<Schema> parts(Schema schema) {
        Stream<Schema> parts = switch (schema.type()) {
            case ARRAY -> Stream.of(schema).map(Schema::valueSchema);
            case MAP -> Stream.of(schema.keySchema(), schema.valueSchema());
            case STRUCT -> schema.fields().stream().map(Field::schema);
            default -> Stream.of();
        };
        return parts.filter(Objects::nonNull).toList(); // arrays and maps of mixed types have no inner schema
    }

    ObjectNode write(Schema schema) {
        Search search = new Search();
        search.find(schema);
        return written(schema, search.found, new HashMap<>());
    }

    private ObjectNode written(Schema schema, Set<Identity> referenced, Map<Identity, Integer> numbers) {
        if (!isRecursive(schema)) {
            return converter.asJsonSchema(schema).deepCopy();
        }
        ObjectNode node = JsonNodeFactory.instance.objectNode().put("type", schema.type().name().toLowerCase(Locale.ROOT));
        if (schema.type() == Schema.Type.ARRAY) {
            node.set("items", written(schema.valueSchema(), referenced, numbers));
        } else if (schema.type() == Schema.Type.MAP) {
            node.set("keys", written(schema.keySchema(), referenced, numbers));
            node.set("values", written(schema.valueSchema(), referenced, numbers));
        } else {
            Schema struct = schema instanceof StructReference reference ? reference.target() : schema;
            Identity own = Identity.of(struct);
            Integer known = numbers.get(own);
            if (known == null && referenced.contains(own)) {
                numbers.put(own, numbers.size());
            }
            if (known != null || struct != schema) {
                node.put("optional", schema.isOptional()).put(REFERENCE, numbers.get(own));
                if (schema instanceof StructReference reference && !reference.ownParameters().isEmpty()) {
                    reference.ownParameters().forEach(node.putObject("parameters")::put);
                }
                if (known == null) {
                    node.set("of", fields(JsonNodeFactory.instance.objectNode().put("type", "struct"), struct, referenced, numbers));
                }
                return node;
            }
            if (numbers.containsKey(own)) {
                node.put(NUMBER, numbers.get(own));
            }
            return fields(node, schema, referenced, numbers);
        }
        return attributes(node, schema);
    }

    private ObjectNode fields(ObjectNode node, Schema schema, Set<Identity> referenced, Map<Identity, Integer> numbers) {
        var fields = node.putArray("fields");
        for (Field field : schema.fields()) {
            fields.add(written(field.schema(), referenced, numbers).put("field", field.name()));
        }
        return attributes(node, schema);
    }

    private static ObjectNode attributes(ObjectNode node, Schema schema) {
        if (schema.defaultValue() != null) {
            throw new DataException("a struct that is nested inside itself has a default, which cannot be passed on: " + schema.name());
        }
        node.put("optional", schema.isOptional());
        if (schema.name() != null) {
            node.put("name", schema.name());
        }
        if (schema.version() != null) {
            node.put("version", schema.version());
        }
        if (schema.doc() != null) {
            node.put("doc", schema.doc());
        }
        if (schema.parameters() != null) {
            schema.parameters().forEach(node.putObject("parameters")::put);
        }
        return node;
    }

    /** Returns whether an array or a map in a schema's JSON has no inner schema, which {@code JsonConverter} refuses. */
    private static boolean hasMixedTypes(JsonNode node) {
        List<JsonNode> inner = switch (node.path("type").asText()) {
            case "array" -> List.of(node.path("items"));
            case "map" -> List.of(node.path("keys"), node.path("values"));
            default -> List.of();
        };
        for (JsonNode part : node.path("fields")) {
            if (hasMixedTypes(part)) {
                return true;
            }
        }
        return inner.stream().anyMatch(part -> part.isMissingNode() || part.isNull() || hasMixedTypes(part));
    }

    Schema read(JsonNode node) {
        return read(node, new HashMap<>());
    }

    /** Returns whether a schema's JSON has a reference to a struct. */
    static boolean isRecursive(JsonNode node) {
        if (node.has(REFERENCE) && !node.has("fields")) {
            return true;
        }
        for (JsonNode field : node.path("fields")) {
            if (isRecursive(field)) {
                return true;
            }
        }
        return node.has("items") && isRecursive(node.get("items")) || node.has("keys") && isRecursive(node.get("keys"))
            || node.has("values") && isRecursive(node.get("values"));
    }

    private Schema read(JsonNode node, Map<Integer, StructReference.Target> known) {
        if (!isRecursive(node) && !hasMixedTypes(node)) {
            return converter.asConnectSchema(node);
        }
        if (node.has(REFERENCE)) {
            int number = node.get(REFERENCE).asInt();
            if (!known.containsKey(number)) {
                if (!node.has("of")) {
                    throw new DataException("a schema refers to the struct " + number + ", which is not in it");
                }
                known.put(number, new StructReference.Target());
                known.get(number).schema = read(node.get("of"), known);
            }
            return new StructReference(known.get(number), node.path("optional").asBoolean(), parameters(node));
        }
        StructReference.Target target = new StructReference.Target();
        if (node.has(NUMBER)) {
            known.put(node.get(NUMBER).asInt(), target);
        }
        Schema.Type type = Schema.Type.valueOf(node.path("type").asText().toUpperCase(Locale.ROOT));
        Schema keys = node.hasNonNull("keys") ? read(node.get("keys"), known) : null;
        String inner = type == Schema.Type.MAP ? "values" : "items";
        Schema values = node.hasNonNull(inner) ? read(node.get(inner), known) : null;
        target.schema = new ConnectSchema(
            type, node.path("optional").asBoolean(), null, node.path("name").textValue(),
            node.hasNonNull("version") ? node.get("version").asInt() : null, node.path("doc").textValue(),
            node.hasNonNull("parameters") ? parameters(node) : null, type == Schema.Type.STRUCT ? fields(node, known) : null, keys, values);
        return target.schema;
    }

    private List<Field> fields(JsonNode node, Map<Integer, StructReference.Target> known) {
        List<Field> fields = new ArrayList<>();
        node.path("fields").forEach(field -> fields.add(new Field(field.path("field").asText(), fields.size(), read(field, known))));
        return fields;
    }

    private static Map<String, String> parameters(JsonNode node) {
        Map<String, String> found = new HashMap<>();
        node.path("parameters").properties().forEach(each -> found.put(each.getKey(), each.getValue().asText()));
        return found;
    }

    /** Identifies a struct: a builder, what it built, and a view of either have the very same fields. */
    private record Identity(List<Field> fields, List<Object> facts) {
        static Identity of(Schema schema) {
            return new Identity(schema.fields(), java.util.Arrays.asList(schema.name(), schema.version(), schema.doc(), schema.parameters()));
        }

        @Override
        public boolean equals(Object other) {
            if (!(other instanceof Identity one) || fields.size() != one.fields.size() || !facts.equals(one.facts)) {
                return false;
            }
            for (int place = 0; place < fields.size(); place++) {
                if (fields.get(place) != one.fields.get(place)) {
                    return false;
                }
            }
            return !fields.isEmpty();
        }

        @Override
        public int hashCode() {
            return fields.isEmpty() ? 0 : System.identityHashCode(fields.get(0));
        }
    }
}
