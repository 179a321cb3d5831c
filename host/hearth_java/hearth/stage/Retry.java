package hearth.stage;

import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.errors.RetriableException;

/** Retries of one record with Kafka Connect's delays: 300 ms, doubled each time, random once they exceed the maximum. */
record Retry(long timeoutMs, long delayMaxMs, boolean isStrict, CountDownLatch stopping) {
    private static final long FIRST_MS = 300;

    static Retry none(CountDownLatch stopping) {
        return new Retry(0, 0, false, stopping);
    }

    /** Calls an operation until it returns, raises an error that is not retriable, or the time is over. */
    <T> T run(Callable<T> operation) throws Exception {
        long started = System.nanoTime();
        for (int attempt = 0; ; attempt++) {
            try {
                return operation.call();
            } catch (RetriableException error) {
                if (!isWorthAnother(attempt, started)) {
                    throw error;
                }
            }
        }
    }

    private boolean isWorthAnother(int attempt, long started) throws InterruptedException {
        long delay = FIRST_MS << Math.min(attempt, 40);
        if (delay > delayMaxMs) {
            delay = delayMaxMs <= 0 ? 0 : ThreadLocalRandom.current().nextLong(delayMaxMs);
        }
        if (timeoutMs >= 0) {
            long left = timeoutMs - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started);
            if (left <= 0) {
                return false;
            }
            delay = Math.min(delay, left);
        }
        return !stopping.await(delay, TimeUnit.MILLISECONDS);
    }
}
