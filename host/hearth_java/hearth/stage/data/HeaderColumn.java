package hearth.stage.data;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;

/** Headers of many records as one column of lists, in the form of batches and in that of Kafka's records. */
public final class HeaderColumn {
    private HeaderColumn() {
    }

    /** The entries of all lists, part by part, and the number of entries of each row. */
    public static final class Entries {
        final int[] counts;
        private final List<List<Object>> parts = new ArrayList<>();
        private int row;

        /** Starts entries for a number of rows with a number of parts each. */
        public Entries(int rows, int width) {
            counts = new int[rows];
            for (int part = 0; part < width; part++) {
                parts.add(new ArrayList<>());
            }
        }

        /** Adds an entry to the current row. */
        public void add(Object... entry) {
            for (int part = 0; part < entry.length; part++) {
                parts.get(part).add(entry[part]);
            }
            counts[row]++;
        }

        /** Ends the current row. */
        public void next() {
            row++;
        }

        void write(ListVector vector) {
            vector.setInitialCapacity(counts.length);
            vector.allocateNew();
            int total = 0;
            for (int place = 0; place < counts.length; place++) {
                vector.startNewValue(place);
                vector.endValue(place, counts[place]);
                total += counts[place];
            }
            StructVector entries = BatchWriter.structs(vector);
            entries.setInitialCapacity(total);
            entries.allocateNew();
            for (int part = 0; part < parts.size(); part++) {
                BatchWriter.texts((FieldVector) entries.getChildByOrdinal(part), parts.get(part));
            }
            for (int place = 0; place < total; place++) {
                entries.setIndexDefined(place);
            }
            entries.setValueCount(total);
            vector.setValueCount(counts.length);
        }
    }

    static Entries texts(List<ConnectRecord<?>> records) {
        Entries entries = new Entries(records.size(), 3);
        for (ConnectRecord<?> record : records) {
            record.headers().forEach(header -> add(entries, header));
            entries.next();
        }
        return entries;
    }

    /** Adds one header to the current row; a value that does not fit its schema raises a {@code DataException}. */
    public static void add(Entries entries, Header header) {
        Schema schema = header.schema();
        if (schema == null && header.value() instanceof Struct struct) {
            schema = struct.schema();
        }
        entries.add(header.key(), SchemaTexts.write(schema), text(schema, header.value()));
    }

    private static String text(Schema schema, Object value) {
        if (value == null) {
            return null;
        }
        if (schema != null && schema.type() == Schema.Type.STRING) {
            Values.check(schema, value);
            return (String) value;
        }
        return PlainJson.write(schema, value);
    }

    static Headers read(ListVector vector, int row) {
        ConnectHeaders headers = new ConnectHeaders();
        if (!vector.isNull(row)) {
            StructVector entries = BatchWriter.structs(vector);
            for (int place = vector.getElementStartIndex(row); place < vector.getElementEndIndex(row); place++) {
                Schema schema = SchemaTexts.read(Columns.text(entries.getChild("schema"), place));
                String text = Columns.text(entries.getChild("value"), place);
                boolean isText = text == null || (schema != null && schema.type() == Schema.Type.STRING);
                headers.add(Columns.text(entries.getChild("key"), place), isText ? text : PlainJson.read(schema, text), schema);
            }
        }
        return headers;
    }

    static RecordHeaders readRaw(ListVector vector, int row) {
        RecordHeaders headers = new RecordHeaders();
        if (!vector.isNull(row)) {
            StructVector entries = BatchWriter.structs(vector);
            BaseVariableWidthVector values = (BaseVariableWidthVector) entries.getChild("value");
            for (int place = vector.getElementStartIndex(row); place < vector.getElementEndIndex(row); place++) {
                String key = Columns.text(entries.getChild("key"), place);
                headers.add(key, values.isNull(place) ? null : values.get(place));
            }
        }
        return headers;
    }
}
