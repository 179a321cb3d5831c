package org.example.ledger;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Behaves as `ledger.source` of the bundle `ledger`, with the same probabilities. */
public class LedgerSourceTask extends SourceTask {
    private static final double REFUSED = 0.05;
    private static final long PAUSE_MS = 20;
    private static final int MOST = 16;

    private final Map<Integer, Long> next = new TreeMap<>();
    private Book book;
    private Random chance;
    private String topic;
    private Path unwell;

    @Override
    public String version() {
        return "1.0";
    }

    @Override
    public void start(Map<String, String> props) {
        book = new Book(props.get("ledger.folder"), props.get("name"), props.get("ledger.task"));
        chance = new Random((props.get("ledger.seed") + " " + props.get("ledger.task")).hashCode());
        topic = props.get("topic");
        unwell = Path.of(props.get("ledger.unwell"));
        for (String each : props.get("ledger.share").split(",")) {
            int partition = Integer.parseInt(each);
            Map<String, Object> stored = context.offsetStorageReader().offset(Map.of("ledger", partition));
            next.put(partition, stored == null ? 0 : ((Number) stored.get("next")).longValue());
        }
        book.note("begin", next.entrySet().stream()
            .map(each -> each.getKey() + ":" + each.getValue()).collect(Collectors.joining(" ")));
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        Thread.sleep(PAUSE_MS);
        if (Files.exists(unwell) && chance.nextDouble() < REFUSED) {
            throw new RetriableException("unwell");
        }
        List<SourceRecord> records = new ArrayList<>();
        for (int partition : next.keySet()) {
            int count = chance.nextInt(MOST + 1);
            for (int each = 0; each < count; each++) {
                records.add(record(partition));
            }
        }
        return records;
    }

    @Override
    public void stop() {
        if (book != null) {
            book.close();
        }
    }

    private SourceRecord record(int partition) {
        long number = next.get(partition);
        next.put(partition, number + 1);
        return new SourceRecord(Map.of("ledger", partition), Map.of("next", number + 1), topic, partition,
            null, null, Schema.STRING_SCHEMA, number + " " + book.run);
    }
}
