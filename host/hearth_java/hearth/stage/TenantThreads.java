package hearth.stage;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.slf4j.LoggerFactory;

/** The threads of one tenant: the stage's own, and those that its plugins start. */
final class TenantThreads {
    private static final long GRACE_MS = 200;
    private static final String OWN = "stage-";
    private static final String SHARED = "ForkJoinPool.commonPool";
    private final ThreadGroup group;

    TenantThreads(int number) {
        group = new ThreadGroup("tenant-" + number);
    }

    /** Returns a new thread of the stage for the tenant; threads that a plugin starts on it belong to the tenant too. */
    Thread made(Runnable work, String name) {
        Thread thread = new Thread(group, work, OWN + name);
        thread.setDaemon(true);
        return thread;
    }

    /** Names in the log the threads that plugins leave in a JVM that goes on; their process is shared, so they stay. */
    void reportLeft() {
        long until = System.nanoTime() + GRACE_MS * 1_000_000;
        List<String> left = left();
        try {
            while (!left.isEmpty() && System.nanoTime() < until) {
                Thread.sleep(10);
                left = left();
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        if (!left.isEmpty()) {
            LoggerFactory.getLogger(TenantThreads.class).warn("the plugin was stopped and its threads still run: {}", String.join(", ", left));
        }
    }

    private List<String> left() {
        Thread[] found = new Thread[group.activeCount() + 16];
        group.enumerate(found);
        return Arrays.stream(found).filter(Objects::nonNull).map(Thread::getName)
            .filter(name -> !name.startsWith(OWN) && !name.startsWith(SHARED)).sorted().toList();
    }
}
