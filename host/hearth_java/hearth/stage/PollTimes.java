package hearth.stage;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** The polls that returned records since the last hand-over: how many, and how long they took. */
final class PollTimes {
    private int count;
    private long records;
    private long largest;
    private long ns;
    private long longestNs;

    /** Adds a poll; a part of one, where a transaction ends within it, counts as one. */
    synchronized void add(int size, long tookNs) {
        count++;
        records += size;
        largest = Math.max(largest, size);
        ns += tookNs;
        longestNs = Math.max(longestNs, tookNs);
    }

    /** Writes them, and starts anew. */
    synchronized void writeTo(ObjectNode args) {
        args.putObject("times").put("count", count).put("records", records).put("seconds", ns / 1e9)
            .put("longest", longestNs / 1e9).put("largest", largest);
        count = 0;
        records = largest = ns = longestNs = 0;
    }
}
