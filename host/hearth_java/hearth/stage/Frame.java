package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** One message: a JSON header and its bodies. */
record Frame(JsonNode header, List<byte[]> bodies) {
    static final ObjectMapper JSON = new ObjectMapper();

    /** Reads one frame, null at the end of the stream. */
    static Frame read(DataInputStream in) throws IOException {
        byte[] prefix = in.readNBytes(8);
        if (prefix.length == 0) {
            return null;
        }
        if (prefix.length < 8) {
            throw new EOFException("the stream ends inside a frame");
        }
        ByteBuffer lengths = ByteBuffer.wrap(prefix).order(ByteOrder.LITTLE_ENDIAN);
        int length = lengths.getInt();
        int headerLength = lengths.getInt();
        if (length < 4 || headerLength < 0 || headerLength > length - 4) {
            throw new IOException("not a frame: length " + length + ", header length " + headerLength);
        }
        JsonNode header = JSON.readTree(full(in, headerLength));
        if (header == null || !header.isObject()) {
            throw new IOException("not a frame: the header is not an object");
        }
        List<byte[]> bodies = new ArrayList<>();
        long left = length - 4L - headerLength;
        for (JsonNode size : header.path("batches")) {
            if (!size.isInt() || size.intValue() < 0 || (left -= size.intValue()) < 0) {
                throw new IOException("not a frame: its bodies do not match its length");
            }
            bodies.add(full(in, size.intValue()));
        }
        if (left != 0) {
            throw new IOException("not a frame: its bodies do not match its length");
        }
        return new Frame(header, bodies);
    }

    private static byte[] full(DataInputStream in, int size) throws IOException {
        byte[] content = in.readNBytes(size);
        if (content.length < size) {
            throw new EOFException("the stream ends inside a frame");
        }
        return content;
    }

    /** Writes one frame; the caller holds the stream's lock. */
    static void write(OutputStream out, ObjectNode header, List<byte[]> bodies) throws IOException {
        long rest = 0;
        if (!bodies.isEmpty()) {
            ArrayNode sizes = header.putArray("batches");
            for (byte[] body : bodies) {
                sizes.add(body.length);
                rest += body.length;
            }
        }
        byte[] text = JSON.writeValueAsBytes(header);
        long length = 4L + text.length + rest;
        if (length > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a frame of " + length + " bytes is longer than the protocol's 2147483648");
        }
        ByteBuffer prefix = ByteBuffer.allocate(8 + text.length).order(ByteOrder.LITTLE_ENDIAN);
        prefix.putInt((int) length).putInt(text.length).put(text);
        out.write(prefix.array());
        for (byte[] body : bodies) {
            out.write(body);
        }
    }
}
