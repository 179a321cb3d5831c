package odd;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** Exits, halts, hangs, deadlocks, fills the heap or leaves a thread, as the setting says. */
public final class Hostile<R extends ConnectRecord<R>> implements Transformation<R> {
    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void configure(Map<String, ?> configs) {
        switch ((String) configs.get("act")) {
            case "exit" -> System.exit(3);
            case "halt" -> Runtime.getRuntime().halt(4);
            case "fill" -> fill();
            case "hang" -> waitForever();
            case "deadlock" -> deadlock();
            case "leave" -> start("hostile-left", Hostile::waitForever);
            default -> { }
        }
    }

    private static void fill() {
        List<byte[]> all = new ArrayList<>();
        while (true) {
            all.add(new byte[1 << 20]);
        }
    }

    private static void deadlock() {
        Object one = new Object();
        Object other = new Object();
        CountDownLatch both = new CountDownLatch(2);
        start("hostile-other", () -> lock(other, one, both));
        lock(one, other, both);
    }

    private static void lock(Object first, Object second, CountDownLatch both) {
        synchronized (first) {
            both.countDown();
            try {
                both.await();
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
            synchronized (second) {
                throw new IllegalStateException("no deadlock");
            }
        }
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void waitForever() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public R apply(R record) {
        return record;
    }

    @Override
    public void close() {
    }
}
