package hearth.stage;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Polls that are not handed over yet, and the credit for them. What waits is sent with the next poll after its delay or,
 * while the task is still in that poll, from a thread of the buffer, which calls no plugin.
 */
final class PollBuffer {
    private static final long AHEAD_BYTES = 2 << 20;
    private static final int FULL_ROWS = 1_000;
    private static final long APART_NS = 5_000_000;
    private final ToLongFunction<List<SourceRecord>> send;
    private final Consumer<Throwable> fail;
    private final Deque<Long> ahead = new ArrayDeque<>();
    private List<SourceRecord> waiting = new ArrayList<>();
    private ScheduledThreadPoolExecutor timer;
    private long credit;
    private long due = System.nanoTime();

    /** {@code send} returns the bytes that it sent; {@code fail} gets an error of the buffer's own thread. */
    PollBuffer(ToLongFunction<List<SourceRecord>> send, Consumer<Throwable> fail) {
        this.send = send;
        this.fail = fail;
    }

    /** Adds credit: first one per hand-over that the runtime has room for, then one per processed hand-over. */
    synchronized void addCredit(int count) {
        credit += count;
        for (int place = 0; place < count && !ahead.isEmpty(); place++) {
            ahead.poll();
        }
    }

    /** Returns whether there is credit for another poll, besides that of what waits. */
    synchronized boolean hasRoom() {
        boolean isFarAhead = ahead.size() > 1 && ahead.stream().mapToLong(Long::longValue).sum() >= AHEAD_BYTES;
        return credit > (waiting.isEmpty() ? 0 : 1) && !isFarAhead;
    }

    /** Adds a poll, and sends it now or with the next ones. */
    synchronized void add(List<SourceRecord> records, boolean atOnce) {
        boolean isFirst = waiting.isEmpty();
        waiting.addAll(records);
        long left = due - System.nanoTime();
        if (atOnce || waiting.size() >= FULL_ROWS || credit <= 1 || left <= 0) {
            flush();
        } else if (isFirst) {
            later(left);
        }
    }

    /** Sends what waits. */
    synchronized void flush() {
        if (!waiting.isEmpty()) {
            List<SourceRecord> records = waiting;
            waiting = new ArrayList<>();
            credit--;
            ahead.add(send.applyAsLong(records));
            due = System.nanoTime() + APART_NS;
        }
    }

    /** Drops what waits, as if it had not been polled, and ends the thread. */
    synchronized void close() {
        waiting.clear();
        if (timer != null) {
            timer.shutdownNow();
            timer = null;
        }
    }

    private void later(long delayNs) {
        if (timer == null) {
            timer = new ScheduledThreadPoolExecutor(1, task -> {
                Thread thread = new Thread(task, "stage-hand-overs");
                thread.setDaemon(true);
                return thread;
            });
        }
        timer.schedule(this::flushWhenDue, delayNs, TimeUnit.NANOSECONDS);
    }

    private synchronized void flushWhenDue() {
        long left = due - System.nanoTime();
        if (left > 0 && timer != null && !waiting.isEmpty()) {
            later(left); // a poll was sent in the meantime, and another waits
            return;
        }
        try {
            flush();
        } catch (Throwable error) {
            fail.accept(error);
        }
    }
}
