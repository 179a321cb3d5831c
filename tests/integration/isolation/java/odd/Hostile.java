package odd;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** Exits, halts, hangs or fills the heap, as the setting says. */
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
            default -> { }
        }
    }

    private static void fill() {
        List<byte[]> all = new ArrayList<>();
        while (true) {
            all.add(new byte[1 << 20]);
        }
    }

    private static void waitForever() {
        try {
            new java.util.concurrent.CountDownLatch(1).await();
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
