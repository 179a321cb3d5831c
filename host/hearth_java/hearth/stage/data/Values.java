package hearth.stage.data;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;

/** Checks of single values. */
final class Values {
    private Values() {
    }

    /** Raises Kafka Connect's {@code DataException} unless a value other than null fits its schema; parts may be unchecked. */
    static void check(Schema schema, Object value) {
        if (schema.type() == Schema.Type.STRUCT && value instanceof Struct struct) {
            boolean isSame = struct.schema() == schema || struct.schema().equals(schema);
            if (!isSame && !SchemaTexts.areSameRecursive(struct.schema(), schema)) {
                throw new DataException("Mismatching schema.");
            }
            return;
        }
        boolean isOfMixedTypes = schema.type() == Schema.Type.ARRAY && schema.valueSchema() == null && value instanceof List
            || schema.type() == Schema.Type.MAP && schema.valueSchema() == null && value instanceof Map;
        if (!isOfMixedTypes) {
            ConnectSchema.validateValue(schema, value);
        }
    }

    static byte[] bytes(Object value) {
        if (value instanceof ByteBuffer buffer) {
            ByteBuffer copy = buffer.duplicate();
            byte[] bytes = new byte[copy.remaining()];
            copy.get(bytes);
            return bytes;
        }
        return (byte[]) value;
    }
}
