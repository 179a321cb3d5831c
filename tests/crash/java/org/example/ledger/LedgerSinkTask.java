package org.example.ledger;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** Behaves as `ledger.sink` of the bundle `ledger`, with the same probabilities. */
public class LedgerSinkTask extends SinkTask {
    private static final double LEAST_TIMEOUT_MS = 100;
    private static final double REFUSED = 0.7;
    private static final double FLUSH_FAILS = 0.3;
    private static final double ASKS = 0.05;
    private static final int ERRANT_EVERY = 101;

    private Book book;
    private Random chance;
    private Path unwell;
    private double most;
    private boolean lazy;
    private boolean asks;
    private boolean fails;
    private String errant;
    private List<Book.Entry> held = new ArrayList<>();
    private final List<SinkRecord> bad = new ArrayList<>();
    private final Map<SinkRecord, Long> waiting = new IdentityHashMap<>();
    private final AtomicReference<Throwable> error = new AtomicReference<>();
    private ScheduledExecutorService later;

    @Override
    public String version() {
        return "1.0";
    }

    @Override
    public void start(Map<String, String> props) {
        book = new Book(props.get("ledger.folder"), props.get("name"), props.get("ledger.task"));
        chance = new Random((props.get("ledger.seed") + " " + props.get("ledger.task")).hashCode());
        unwell = Path.of(props.get("ledger.unwell"));
        most = Double.parseDouble(props.get("ledger.timeout.ms"));
        lazy = Boolean.parseBoolean(props.get("ledger.lazy"));
        asks = Boolean.parseBoolean(props.get("ledger.asks"));
        fails = Boolean.parseBoolean(props.get("ledger.fails"));
        errant = props.get("ledger.errant");
        later = Executors.newSingleThreadScheduledExecutor();
        later.scheduleWithFixedDelay(this::reportDue, 10, 10, TimeUnit.MILLISECONDS);
    }

    @Override
    public void open(Collection<TopicPartition> partitions) {
        book.note("open", names(partitions));
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        check();
        if (records.isEmpty()) {
            return;
        }
        List<Book.Entry> entries = records.stream().map(LedgerSinkTask::entry).toList();
        if (isUnwell() && chance.nextDouble() < REFUSED) {
            book.enter("refuse", entries);
            context.timeout(delay());
            throw new RetriableException("unwell");
        }
        List<Book.Entry> good = entries.stream().filter(each -> !isBad(each)).toList();
        if (lazy) {
            held.addAll(good);
        } else {
            book.enter("put", good);
        }
        records.stream().filter(each -> isBad(entry(each))).forEach(this::dispose);
        if (asks && chance.nextDouble() < ASKS) {
            context.requestCommit();
        }
    }

    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> currentOffsets) {
        check();
        if (fails && isUnwell() && chance.nextDouble() < FLUSH_FAILS) {
            forget(place -> true);
            book.note("fail", "");
            throw new RetriableException("cannot flush now");
        }
        flush();
        bad.forEach(this::report);
        bad.clear();
        Map<TopicPartition, OffsetAndMetadata> agreed = new HashMap<>(currentOffsets);
        held.forEach(each -> limit(agreed, new TopicPartition(each.topic(), each.partition()), each.offset()));
        synchronized (waiting) {
            waiting.keySet().forEach(each -> limit(agreed, place(each), each.kafkaOffset()));
        }
        book.note("agree", agreed.entrySet().stream()
            .map(each -> name(each.getKey()) + ":" + each.getValue().offset()).collect(Collectors.joining(" ")));
        return agreed;
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        forget(new HashSet<>(partitions)::contains);
        book.note("close", names(partitions));
    }

    @Override
    public void stop() {
        if (later != null) {
            later.shutdownNow();
        }
        if (book != null) {
            book.close();
        }
    }

    /** Books a part of the buffer. */
    private void flush() {
        int count = held.size();
        int part = List.of(0, count, chance.nextInt(count + 1)).get(chance.nextInt(3));
        book.enter("put", held.subList(0, part));
        held = new ArrayList<>(held.subList(part, count));
    }

    private void dispose(SinkRecord record) {
        if (errant.equals("put")) {
            report(record);
        } else if (errant.equals("flush")) {
            bad.add(record);
        } else {
            synchronized (waiting) {
                waiting.put(record, System.nanoTime() + (10 + chance.nextInt(490)) * 1_000_000L);
            }
        }
    }

    private Future<Void> report(SinkRecord record) {
        return context.errantRecordReporter().report(record, new IllegalArgumentException("a bad number"));
    }

    /** Reports the records that are due, and waits until they are stored. */
    private void reportDue() {
        try {
            Map<SinkRecord, Future<Void>> reports = new IdentityHashMap<>();
            due().forEach(record -> reports.put(record, report(record)));
            for (Map.Entry<SinkRecord, Future<Void>> each : reports.entrySet()) {
                each.getValue().get();
                synchronized (waiting) {
                    waiting.remove(each.getKey());
                }
            }
        } catch (Throwable thrown) {
            error.set(thrown);
        }
    }

    private List<SinkRecord> due() {
        long now = System.nanoTime();
        synchronized (waiting) {
            return waiting.keySet().stream().filter(each -> waiting.get(each) <= now).toList();
        }
    }

    private void check() {
        if (error.get() != null) {
            throw new ConnectException("a record could not be reported", error.get());
        }
    }

    private void forget(Predicate<TopicPartition> which) {
        held.removeIf(each -> which.test(new TopicPartition(each.topic(), each.partition())));
        bad.removeIf(each -> which.test(place(each)));
        synchronized (waiting) {
            waiting.keySet().removeIf(each -> which.test(place(each)));
        }
    }

    private boolean isBad(Book.Entry entry) {
        return !errant.equals("never") && entry.number() % ERRANT_EVERY == ERRANT_EVERY - 1;
    }

    private boolean isUnwell() {
        return Files.exists(unwell);
    }

    /** Returns a time in milliseconds; short ones are as likely as long ones. */
    private long delay() {
        double least = Math.log(LEAST_TIMEOUT_MS);
        return (long) Math.exp(least + chance.nextDouble() * (Math.log(most) - least));
    }

    private static void limit(Map<TopicPartition, OffsetAndMetadata> agreed, TopicPartition place, long offset) {
        agreed.computeIfPresent(place, (key, asked) -> asked.offset() > offset ? new OffsetAndMetadata(offset) : asked);
    }

    private static Book.Entry entry(SinkRecord record) {
        long number = Long.parseLong((String) record.value());
        return new Book.Entry(record.topic(), record.kafkaPartition(), record.kafkaOffset(), number);
    }

    private static TopicPartition place(SinkRecord record) {
        return new TopicPartition(record.topic(), record.kafkaPartition());
    }

    private static String names(Collection<TopicPartition> partitions) {
        return partitions.stream().map(LedgerSinkTask::name).sorted().collect(Collectors.joining(" "));
    }

    private static String name(TopicPartition place) {
        return place.topic() + ":" + place.partition();
    }
}
