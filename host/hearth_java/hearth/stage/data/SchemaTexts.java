package hearth.stage.data;

import com.fasterxml.jackson.databind.ObjectMapper;
import hearth.stage.log.Levels;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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
    private static final JsonConverter CONVERTER = Levels.quietly(SchemaTexts::converter);
    private static final RecursiveSchemas RECURSIVE = new RecursiveSchemas(CONVERTER);
    private static final Map<Identity, String> TEXTS = new ConcurrentHashMap<>();
    private static final Map<Identity, Shape> SHAPES = new ConcurrentHashMap<>();
    private static final Map<String, Schema> SCHEMAS = Collections.synchronizedMap(new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Schema> eldest) {
            return size() > MOST;
        }
    });

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
            try {
                known = RECURSIVE.read(JSON.readTree(text));
            } catch (java.io.IOException error) {
                throw new DataException("a schema is not JSON: " + error.getMessage(), error);
            }
            SCHEMAS.put(text, known);
        }
        return known;
    }

    /** Returns whether columns hold values of the schema as JSON texts. */
    static boolean isText(Schema schema) {
        return schema == null || schema instanceof StructReference || !schema.type().isPrimitive() && shape(schema).levels > MOST_LEVELS;
    }

    /** Returns whether values of the schema can be packed: they are no texts at any depth. */
    static boolean isPackable(Schema schema) {
        return !isText(schema) && (schema.type().isPrimitive() || !shape(schema).isRecursive);
    }

    /** Returns the schema, in which a struct that holds itself does so by references. */
    static Schema withReferences(Schema schema) {
        boolean isRecursive = schema != null && !schema.type().isPrimitive() && shape(schema).isRecursive;
        return isRecursive ? read(write(schema)) : schema;
    }

    /** Returns whether two structs that hold themselves are the same, each with other objects for its fields. */
    static boolean areSameRecursive(Schema one, Schema other) {
        return RECURSIVE.areSame(one, other);
    }

    private static Shape shape(Schema schema) {
        Identity key = new Identity(schema);
        Shape known = SHAPES.get(key);
        if (known == null) {
            if (SHAPES.size() >= MOST) {
                SHAPES.clear();
            }
            boolean isRecursive = RecursiveSchemas.isRecursive(schema);
            known = new Shape(isRecursive, levels(isRecursive ? read(write(schema)) : schema));
            SHAPES.put(key, known);
        }
        return known;
    }

    private static int levels(Schema schema) {
        if (schema == null || schema instanceof StructReference) {
            return 0;
        }
        return switch (schema.type()) {
            case ARRAY -> 1 + levels(schema.valueSchema());
            case MAP -> 2 + Math.max(levels(schema.keySchema()), levels(schema.valueSchema()));
            case STRUCT -> {
                int most = 0;
                for (Field field : schema.fields()) {
                    most = Math.max(most, levels(field.schema()));
                }
                yield 1 + most;
            }
            default -> 1;
        };
    }

    private static String text(Schema schema) {
        boolean isRecursive = !schema.type().isPrimitive() && RecursiveSchemas.isRecursive(schema);
        return (isRecursive ? RECURSIVE.write(schema) : CONVERTER.asJsonSchema(schema)).toString();
    }

    private static JsonConverter converter() {
        JsonConverter made = new JsonConverter();
        made.configure(Map.of("schemas.enable", true, "schemas.cache.size", MOST), false);
        return made;
    }

    private record Shape(boolean isRecursive, int levels) {
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
