package hearth.stage.data;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.SmallIntVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;

/** Values of one schema as an Arrow vector and back, by type. */
public final class Columns {
    private Columns() {
    }

    /** Returns the Arrow field of a column with values of the schema. */
    static Field field(String name, Schema schema) {
        return typed(name, schema, true);
    }

    private static Field typed(String name, Schema schema, boolean isNullable) {
        if (SchemaTexts.isText(schema)) {
            return new Field(name, new FieldType(isNullable, new ArrowType.Utf8(), null), null);
        }
        List<Field> parts = null;
        ArrowType type;
        switch (schema.type()) {
            case ARRAY -> {
                type = new ArrowType.List();
                parts = List.of(typed("item", schema.valueSchema(), true));
            }
            case MAP -> {
                type = new ArrowType.Map(false);
                List<Field> pair = List.of(typed("key", schema.keySchema(), false), typed("value", schema.valueSchema(), true));
                parts = List.of(new Field("entries", FieldType.notNullable(new ArrowType.Struct()), pair));
            }
            case STRUCT -> {
                type = new ArrowType.Struct();
                parts = new ArrayList<>();
                for (org.apache.kafka.connect.data.Field each : schema.fields()) {
                    parts.add(typed(each.name(), each.schema(), true));
                }
            }
            case INT8 -> type = new ArrowType.Int(8, true);
            case INT16 -> type = new ArrowType.Int(16, true);
            case INT32 -> type = new ArrowType.Int(32, true);
            case INT64 -> type = new ArrowType.Int(64, true);
            case FLOAT32 -> type = new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
            case FLOAT64 -> type = new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
            case BOOLEAN -> type = new ArrowType.Bool();
            case BYTES -> type = new ArrowType.Binary();
            default -> type = new ArrowType.Utf8();
        }
        return new Field(name, new FieldType(isNullable, type, null), parts);
    }

    /** Fills a vector of {@link #field}; a value that does not fit its schema raises a {@code DataException}. */
    static void write(Schema schema, FieldVector vector, Object[] values) {
        if (SchemaTexts.isText(schema)) {
            Object[] texts = new Object[values.length];
            for (int row = 0; row < values.length; row++) {
                texts[row] = values[row] == null ? null : PlainJson.write(schema, values[row]);
            }
            writeBytes((BaseVariableWidthVector) vector, texts);
            return;
        }
        switch (schema.type()) {
            case STRUCT -> writeStructs(schema, (StructVector) vector, values);
            case ARRAY, MAP -> writeLists(schema, (ListVector) vector, values);
            default -> writePlain(schema, vector, Logical.is(schema) ? physical(schema, values) : values);
        }
    }

    private static Object[] physical(Schema schema, Object[] values) {
        Object[] physical = new Object[values.length];
        for (int row = 0; row < values.length; row++) {
            physical[row] = values[row] == null ? null : Logical.toPhysical(schema, values[row]);
        }
        return physical;
    }

    private static void writePlain(Schema schema, FieldVector vector, Object[] values) {
        int row = 0;
        try {
            if (vector instanceof BaseVariableWidthVector bytes) {
                Class<?> wanted = schema.type() == Schema.Type.STRING ? String.class : null;
                for (; row < values.length; row++) {
                    if (values[row] != null && (wanted == null ? values[row] instanceof String : values[row].getClass() != wanted)) {
                        throw new ClassCastException();
                    }
                }
                writeBytes(bytes, values);
                return;
            }
            vector.setInitialCapacity(values.length);
            vector.allocateNew();
            for (; row < values.length; row++) {
                if (values[row] != null) {
                    set(schema.type(), vector, row, values[row]);
                }
            }
        } catch (ClassCastException error) {
            if (row < values.length) {
                Values.check(schema, values[row]);
            }
            throw new DataException("Invalid Java object for schema type " + schema.type(), error);
        }
        vector.setValueCount(values.length);
    }

    private static void set(Schema.Type type, FieldVector vector, int row, Object value) {
        switch (type) {
            case INT8 -> ((TinyIntVector) vector).set(row, (Byte) value);
            case INT16 -> ((SmallIntVector) vector).set(row, (Short) value);
            case INT32 -> ((IntVector) vector).set(row, (Integer) value);
            case INT64 -> ((BigIntVector) vector).set(row, (Long) value);
            case FLOAT32 -> ((Float4Vector) vector).set(row, (Float) value);
            case FLOAT64 -> ((Float8Vector) vector).set(row, (Double) value);
            default -> ((BitVector) vector).set(row, (Boolean) value ? 1 : 0);
        }
    }

    /** Fills a vector of texts or bytes, allocated once at its full size. */
    static void writeBytes(BaseVariableWidthVector vector, Object[] values) {
        byte[][] cells = new byte[values.length][];
        long size = 0;
        for (int row = 0; row < values.length; row++) {
            if (values[row] != null) {
                cells[row] = values[row] instanceof String text ? text.getBytes(StandardCharsets.UTF_8) : Values.bytes(values[row]);
                size += cells[row].length;
            }
        }
        vector.allocateNew(size, values.length);
        for (int row = 0; row < cells.length; row++) {
            if (cells[row] != null) {
                vector.set(row, cells[row]);
            }
        }
        vector.setValueCount(cells.length);
    }

    private static void writeStructs(Schema schema, StructVector vector, Object[] values) {
        vector.setInitialCapacity(values.length);
        vector.allocateNew();
        for (int row = 0; row < values.length; row++) {
            if (values[row] != null) {
                Values.check(schema, values[row]);
                vector.setIndexDefined(row);
            }
        }
        for (org.apache.kafka.connect.data.Field field : schema.fields()) {
            Object[] own = new Object[values.length];
            for (int row = 0; row < values.length; row++) {
                own[row] = values[row] == null ? null : ((Struct) values[row]).getWithoutDefault(field.name());
            }
            write(field.schema(), (FieldVector) vector.getChildByOrdinal(field.index()), own);
        }
        vector.setValueCount(values.length);
    }

    private static void writeLists(Schema schema, ListVector vector, Object[] values) {
        boolean isMap = schema.type() == Schema.Type.MAP;
        List<Object> keys = new ArrayList<>();
        List<Object> items = new ArrayList<>();
        vector.setInitialCapacity(values.length);
        vector.allocateNew();
        for (int row = 0; row < values.length; row++) {
            if (values[row] == null) {
                vector.setNull(row);
                continue;
            }
            int begun = items.size();
            if (isMap && values[row] instanceof Map<?, ?> map) {
                for (Map.Entry<?, ?> pair : map.entrySet()) {
                    if (pair.getKey() == null) {
                        throw new DataException("a map of a record may not have a null key");
                    }
                    keys.add(pair.getKey());
                    items.add(pair.getValue());
                }
            } else if (!isMap && values[row] instanceof List<?> list) {
                items.addAll(list);
            } else {
                Values.check(schema, values[row]);
            }
            vector.startNewValue(row);
            vector.endValue(row, items.size() - begun);
        }
        FieldVector inner = vector.getDataVector();
        if (isMap) {
            StructVector pairs = (StructVector) inner;
            pairs.setInitialCapacity(items.size());
            pairs.allocateNew();
            write(schema.keySchema(), (FieldVector) pairs.getChildByOrdinal(0), keys.toArray());
            write(schema.valueSchema(), (FieldVector) pairs.getChildByOrdinal(1), items.toArray());
            for (int row = 0; row < items.size(); row++) {
                pairs.setIndexDefined(row);
            }
            pairs.setValueCount(items.size());
        } else {
            write(schema.valueSchema(), inner, items.toArray());
        }
        vector.setValueCount(values.length);
    }

    /** Returns rows of a vector as values of the schema. */
    static Object[] read(Schema schema, FieldVector vector, int start, int count) {
        Object[] values = new Object[count];
        if (SchemaTexts.isText(schema)) {
            for (int row = 0; row < count; row++) {
                String text = text(vector, start + row);
                values[row] = text == null ? null : PlainJson.read(schema, text);
            }
            return values;
        }
        switch (schema.type()) {
            case STRUCT -> readStructs(schema, (StructVector) vector, start, values);
            case ARRAY, MAP -> readLists(schema, (ListVector) vector, start, values);
            default -> {
                PlainColumn.read(schema.type(), vector, start, values);
                for (int row = 0; Logical.is(schema) && row < count; row++) {
                    values[row] = values[row] == null ? null : Logical.fromPhysical(schema, values[row]);
                }
            }
        }
        return values;
    }

    static String text(FieldVector vector, int row) {
        return vector.isNull(row) ? null : new String(((BaseVariableWidthVector) vector).get(row), StandardCharsets.UTF_8);
    }

    private static void readStructs(Schema schema, StructVector vector, int start, Object[] values) {
        for (int row = 0; row < values.length; row++) {
            values[row] = vector.isNull(start + row) ? null : new Struct(schema);
        }
        for (org.apache.kafka.connect.data.Field field : schema.fields()) {
            Object[] own = read(field.schema(), (FieldVector) vector.getChildByOrdinal(field.index()), start, values.length);
            for (int row = 0; row < values.length; row++) {
                if (own[row] != null && values[row] != null) {
                    ((Struct) values[row]).put(field, own[row]); // a null in a required field stays for the converter to judge
                }
            }
        }
    }

    private static void readLists(Schema schema, ListVector vector, int start, Object[] values) {
        if (values.length == 0) {
            return;
        }
        int first = vector.getElementStartIndex(start);
        int count = vector.getElementEndIndex(start + values.length - 1) - first;
        boolean isMap = schema.type() == Schema.Type.MAP;
        FieldVector inner = vector.getDataVector();
        Object[] keys = null;
        Object[] items;
        if (isMap) {
            StructVector pairs = (StructVector) inner;
            keys = read(schema.keySchema(), (FieldVector) pairs.getChildByOrdinal(0), first, count);
            items = read(schema.valueSchema(), (FieldVector) pairs.getChildByOrdinal(1), first, count);
        } else {
            items = read(schema.valueSchema(), inner, first, count);
        }
        for (int row = 0; row < values.length; row++) {
            if (vector.isNull(start + row)) {
                continue;
            }
            int from = vector.getElementStartIndex(start + row) - first;
            int to = vector.getElementEndIndex(start + row) - first;
            if (isMap) {
                Map<Object, Object> map = new LinkedHashMap<>();
                for (int place = from; place < to; place++) {
                    map.put(keys[place], items[place]);
                }
                values[row] = map;
            } else {
                List<Object> list = new ArrayList<>(to - from);
                for (int place = from; place < to; place++) {
                    list.add(items[place]);
                }
                values[row] = list;
            }
        }
    }
}
