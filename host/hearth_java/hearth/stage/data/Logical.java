package hearth.stage.data;

import java.math.BigDecimal;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;

/** Kafka Connect's logical types and their physical forms. */
final class Logical {
    private Logical() {
    }

    static boolean is(Schema schema) {
        String name = schema.name();
        return name != null && switch (name) {
            case Decimal.LOGICAL_NAME -> schema.type() == Schema.Type.BYTES;
            case Date.LOGICAL_NAME, Time.LOGICAL_NAME -> schema.type() == Schema.Type.INT32;
            case Timestamp.LOGICAL_NAME -> schema.type() == Schema.Type.INT64;
            default -> false;
        };
    }

    static Object toPhysical(Schema schema, Object value) {
        Values.check(schema, value);
        return switch (schema.name()) {
            case Decimal.LOGICAL_NAME -> Decimal.fromLogical(schema, (BigDecimal) value);
            case Date.LOGICAL_NAME -> Date.fromLogical(schema, (java.util.Date) value);
            case Time.LOGICAL_NAME -> Time.fromLogical(schema, (java.util.Date) value);
            default -> Timestamp.fromLogical(schema, (java.util.Date) value);
        };
    }

    static Object fromPhysical(Schema schema, Object value) {
        return switch (schema.name()) {
            case Decimal.LOGICAL_NAME -> Decimal.toLogical(schema, (byte[]) value);
            case Date.LOGICAL_NAME -> Date.toLogical(schema, (Integer) value);
            case Time.LOGICAL_NAME -> Time.toLogical(schema, (Integer) value);
            default -> Timestamp.toLogical(schema, (Long) value);
        };
    }
}
