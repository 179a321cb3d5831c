package hearth.stage.data;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.kafka.connect.data.Schema;

/** Values of a column of a primitive type, taken from Arrow's buffers as a whole: its methods for a cell check bounds three times. */
final class PlainColumn {
    private PlainColumn() {
    }

    /** Fills {@code values} with the rows of a vector that begin at {@code start}; nulls stay null. */
    static void read(Schema.Type type, FieldVector vector, int start, Object[] values) {
        if (values.length == 0) {
            return;
        }
        boolean hasNulls = vector.getNullCount() > 0;
        if (vector instanceof BaseVariableWidthVector bytes) {
            readBytes(bytes, start, values, type == Schema.Type.STRING, hasNulls);
            return;
        }
        int width = vector instanceof BitVector ? 0 : ((BaseFixedWidthVector) vector).getTypeWidth();
        if (width != width(type)) {
            throw new IllegalArgumentException("not a batch: a column of " + type + " has values of " + width + " bytes");
        }
        ByteBuffer cells = width == 0 ? null : buffer(vector.getDataBuffer(), (long) start * width, values.length * width);
        for (int row = 0; row < values.length; row++) {
            if (!hasNulls || !vector.isNull(start + row)) {
                values[row] = cell(type, vector, cells, start, row);
            }
        }
    }

    private static Object cell(Schema.Type type, FieldVector vector, ByteBuffer cells, int start, int row) {
        return switch (type) {
            case INT8 -> cells.get(row);
            case INT16 -> cells.getShort(row * 2);
            case INT32 -> cells.getInt(row * 4);
            case INT64 -> cells.getLong(row * 8);
            case FLOAT32 -> cells.getFloat(row * 4);
            case FLOAT64 -> cells.getDouble(row * 8);
            default -> ((BitVector) vector).get(start + row) == 1;
        };
    }

    private static int width(Schema.Type type) {
        return switch (type) {
            case INT8 -> 1;
            case INT16 -> 2;
            case INT32, FLOAT32 -> 4;
            case INT64, FLOAT64 -> 8;
            default -> 0;
        };
    }

    private static void readBytes(BaseVariableWidthVector vector, int start, Object[] values, boolean areTexts, boolean hasNulls) {
        ByteBuffer ends = buffer(vector.getOffsetBuffer(), start * 4L, (values.length + 1) * 4);
        int first = ends.getInt(0);
        byte[] data = new byte[ends.getInt(values.length * 4) - first];
        vector.getDataBuffer().getBytes(first, data);
        int from = 0;
        for (int row = 0; row < values.length; row++) {
            int to = ends.getInt((row + 1) * 4) - first;
            if (!hasNulls || !vector.isNull(start + row)) {
                values[row] = areTexts ? new String(data, from, to - from, StandardCharsets.UTF_8) : Arrays.copyOfRange(data, from, to);
            }
            from = to;
        }
    }

    private static ByteBuffer buffer(ArrowBuf buffer, long from, int length) {
        return buffer.nioBuffer(from, length).order(ByteOrder.LITTLE_ENDIAN);
    }
}
