package hearth.stage.data;

import java.util.List;

/** The consumed records of one put, kept as bodies until one of them is reported. */
public final class ConsumedRecords {
    private final List<byte[]> bodies;

    /** Keeps the bodies, whose rows are numbered across them. */
    public ConsumedRecords(List<byte[]> bodies) {
        this.bodies = bodies;
    }

    /** Returns one record as a body. */
    public byte[] body(int row) {
        int left = row;
        for (byte[] body : bodies) {
            int count = Batch.countOf(body);
            if (left < count) {
                return Batch.oneRow(body, left);
            }
            left -= count;
        }
        throw new IndexOutOfBoundsException("no record was consumed with the number " + row);
    }
}
