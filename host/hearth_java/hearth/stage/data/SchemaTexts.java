package hearth.stage.data;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.json.JsonConverter;

/** Schemas as the JSON text of Kafka Connect's {@code JsonConverter}, cached in both directions. */
public final class SchemaTexts {
    private static final int MOST = 1000;
    private static final int MOST_LEVELS = 63;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonConverter CONVERTER = converter();
    private static final Map<Identity, String> TEXTS = new ConcurrentHashMap<>();
    private static final Map<Identity, Integer> LEVELS = new ConcurrentHashMap<>();
    private static final Map<String, Schema> SCHEMAS = Collections.synchronizedMap(new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Schema> eldest) {
            return size() > MOST;
        }
    });

    private static final Pattern REFERENCE = Pattern.compile("\"reference\"\\s*:\\s*\\d");

    private SchemaTexts() {
    }

    /** Returns the text of a schema, null for none. */
    public static String write(Schema schema) {
        if (schema == null) {
            return null;
        }
        if (!(schema instanceof ConnectSchema)) {
            return text(schema); // a builder may still change
        }
        Identity key = new Identity(schema);
        String known = TEXTS.get(key);
        if (known == null) {
            if (TEXTS.size() >= MOST) {
                TEXTS.clear();
            }
            known = text(schema);
            TEXTS.put(key, known);
        }
        return known;
    }

    /** Returns the schema of a text, null for none; equal texts give the same object while it is cached. */
    public static Schema read(String text) {
        if (text == null) {
            return null;
        }
        Schema known = SCHEMAS.get(text);
        if (known == null) {
            if (REFERENCE.matcher(text).find()) {
                throw recursive("in a record that reaches it");
            }
            try {
                known = CONVERTER.asConnectSchema(JSON.readTree(text));
            } catch (java.io.IOException error) {
                throw new DataException("a schema is not JSON: " + error.getMessage(), error);
            }
            SCHEMAS.put(text, known);
        }
        return known;
    }

    /** Returns whether columns hold values of the schema as JSON texts. */
    static boolean isText(Schema schema) {
        if (schema == null) {
            return true;
        }
        if (schema.type().isPrimitive()) {
            return false;
        }
        Identity key = new Identity(schema);
        Integer known = LEVELS.get(key);
        if (known == null) {
            if (LEVELS.size() >= MOST) {
                LEVELS.clear();
            }
            known = levels(schema, 0);
            LEVELS.put(key, known);
        }
        return known > MOST_LEVELS;
    }

    private static int levels(Schema schema, int depth) {
        if (depth > 1000) {
            throw recursive(schema.name());
        }
        return switch (schema.type()) {
            case ARRAY -> 1 + levels(schema.valueSchema(), depth + 1);
            case MAP -> 2 + Math.max(levels(schema.keySchema(), depth + 1), levels(schema.valueSchema(), depth + 1));
            case STRUCT -> {
                int most = 0;
                for (Field field : schema.fields()) {
                    most = Math.max(most, levels(field.schema(), depth + 1));
                }
                yield 1 + most;
            }
            default -> 1;
        };
    }

    private static String text(Schema schema) {
        try {
            return CONVERTER.asJsonSchema(schema).toString();
        } catch (StackOverflowError error) {
            throw recursive(schema.name());
        }
    }

    private static DataException recursive(String where) {
        return new DataException("a Java stage knows no struct that is nested inside itself: " + where);
    }

    private static JsonConverter converter() {
        JsonConverter made = new JsonConverter();
        made.configure(Map.of("schemas.enable", true, "schemas.cache.size", MOST), false);
        return made;
    }

    /** Compares schemas by identity, which is fast; equal schemas only take another entry. */
    private record Identity(Schema schema) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Identity own && own.schema == schema;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(schema);
        }
    }
}
