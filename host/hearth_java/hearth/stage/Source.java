package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import hearth.stage.data.PackedRows;
import hearth.stage.data.RecordBatches;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.runtime.WorkerTransactionContext;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.source.TransactionContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A source task: polls while there is credit, and hands records over. */
final class Source {
    private static final Logger LOG = LoggerFactory.getLogger(Source.class);
    private final Channel channel;
    private final int tenant;
    private final Transformations transformations;
    private final Plugins plugins;
    private final PluginRegistry registry;
    private final PollBuffer buffer;
    private final PollTimes times = new PollTimes();
    private long pollNs;
    private final Map<Long, SourceRecord> pending = new ConcurrentHashMap<>();
    private volatile SourceTask task;
    private WorkerTransactionContext transactions;
    private List<Transformations.Step> steps = List.of();
    private Retry retry;
    private boolean wantsRecords;
    private boolean packs;
    private boolean joinsPolls;
    private boolean isPolling;
    private volatile boolean hasFailed;
    private long number;
    private long emptyMs = -1;
    private long emptySince = -1;
    private boolean isEmptyReported;

    Source(Channel channel, int tenant, Transformations transformations, Plugins plugins, PluginRegistry registry, Retry retry) {
        this.channel = channel;
        this.tenant = tenant;
        this.transformations = transformations;
        this.plugins = plugins;
        this.registry = registry;
        this.retry = retry;
        buffer = new PollBuffer(this::send, this::report);
    }

    void start(Request request, Answer answer) {
        Connector connector = (Connector) plugins.create(request.text("reference"));
        SourceTask made = (SourceTask) Plugins.task(connector.taskClass());
        steps = Transformations.Step.of(request.args.get("steps"));
        packs = request.args.path("packs").asBoolean() && steps.isEmpty();
        transactions = request.args.path("ends_transactions").asBoolean() ? new WorkerTransactionContext() : null;
        joinsPolls = request.args.path("joins_polls").asBoolean() && transactions == null && steps.isEmpty();
        emptyMs = request.args.path("empty_ms").asLong(-1);
        wantsRecords = isOverridden(made, "commitRecord", SourceRecord.class, RecordMetadata.class);
        made.initialize(new Context(request.config()));
        task = made;
        made.start(request.config());
        isPolling = true;
        answer.args.put("version", made.version()).put("wants_records", wantsRecords);
        answer.args.put("wants_commits", isOverridden(made, "commit"));
    }

    private static boolean isOverridden(SourceTask task, String method, Class<?>... parameters) {
        try {
            return task.getClass().getMethod(method, parameters).getDeclaringClass() != SourceTask.class;
        } catch (NoSuchMethodException error) {
            return true;
        }
    }

    void addCredit(int count) {
        buffer.addCredit(count);
    }

    void hold() {
        isPolling = false;
        buffer.flush();
    }

    void resume() {
        isPolling = true;
        emptySince = -1;
        isEmptyReported = false;
    }

    boolean mayPoll() {
        return isPolling && !hasFailed && task != null && buffer.hasRoom();
    }

    /** Polls once; an error that is not retriable ends polling and is reported. */
    void poll() {
        try {
            if (emptySince < 0) {
                emptySince = System.nanoTime();
            }
            long began = System.nanoTime();
            List<SourceRecord> records = task.poll();
            pollNs = System.nanoTime() - began;
            if (records != null && !records.isEmpty()) {
                emptySince = -1;
                isEmptyReported = false;
                handOver(records);
            } else {
                buffer.flush();
                if (emptyMs >= 0 && !isEmptyReported && System.nanoTime() - emptySince >= emptyMs * 1_000_000) {
                    isEmptyReported = true;
                    channel.notify(tenant, "source.empty", new Answer());
                }
            }
            endTransaction(transactions != null && transactions.shouldCommitBatch(), transactions != null && transactions.shouldAbortBatch());
        } catch (RetriableException error) {
            emptySince = -1;
            isEmptyReported = false;
            LOG.warn("the poll raised a retriable error, polling again", error);
        } catch (Throwable error) {
            flushBefore(error);
            report(error);
        }
    }

    /** Hands over what was polled before an error. */
    private void flushBefore(Throwable error) {
        try {
            buffer.flush();
        } catch (Throwable earlier) {
            error.addSuppressed(earlier);
        }
    }

    private void report(Throwable error) {
        hasFailed = true;
        Answer message = new Answer();
        message.args.set("error", Failures.describe(error));
        channel.notify(tenant, "source.failed", message);
    }

    private void handOver(List<SourceRecord> records) {
        if (wantsRecords) {
            for (SourceRecord record : records) {
                pending.put(number++, record);
            }
        }
        if (transactions == null) {
            times.add(records.size(), pollNs);
            buffer.add(records, !joinsPolls);
            return;
        }
        List<SourceRecord> part = new ArrayList<>();
        for (SourceRecord record : records) {
            part.add(record);
            boolean commits = transactions.shouldCommitOn(record);
            boolean aborts = transactions.shouldAbortOn(record);
            if (commits || aborts) {
                addPart(part);
                endTransaction(commits, aborts);
                part = new ArrayList<>();
            }
        }
        if (!part.isEmpty()) {
            addPart(part);
        }
    }

    private void addPart(List<SourceRecord> part) {
        times.add(part.size(), pollNs);
        pollNs = 0;
        buffer.add(part, true);
    }

    private void endTransaction(boolean commits, boolean aborts) {
        if (commits || aborts) {
            Answer message = new Answer();
            message.args.put("aborts", aborts);
            channel.notify(tenant, "source.transaction", message);
        }
    }

    private long send(List<SourceRecord> records) {
        Answer message = new Answer();
        ArrayNode groups = message.args.putArray("groups");
        try {
            add(groups, message, records, null);
        } catch (RuntimeException | StackOverflowError error) {
            groups.removeAll();
            message.bodies.clear();
            for (SourceRecord record : records) {
                separate(groups, message, record);
            }
        }
        times.writeTo(message.args);
        channel.notify(tenant, "source.batches", message);
        return message.bodies.stream().mapToLong(body -> body.length).sum();
    }

    /** Adds a record alone; one that does not match its schemas fails, as in Kafka Connect its converter would find. */
    private void separate(ArrayNode groups, Answer message, SourceRecord record) {
        int before = message.bodies.size();
        try {
            add(groups, message, List.of(record), null);
        } catch (RuntimeException | StackOverflowError error) {
            while (message.bodies.size() > before) {
                message.bodies.remove(message.bodies.size() - 1);
            }
            SourceRecord empty = new SourceRecord(record.sourcePartition(), record.sourceOffset(), record.topic(), null, null);
            JsonNode failure = Failures.of(0, "TASK_POLL", task.getClass().getName(), error);
            add(groups, message, List.of(empty), failure);
        }
    }

    private void add(ArrayNode groups, Answer message, List<SourceRecord> records, JsonNode failure) {
        List<byte[]> packed = packs && failure == null ? PackedRows.write(records) : null;
        List<byte[]> polled = packed == null ? RecordBatches.write(records, null) : packed;
        ObjectNode group = Frame.JSON.createObjectNode().put("polled", polled.size());
        message.bodies.addAll(polled);
        if (failure != null) {
            group.put("results", 0).putArray("failures").add(failure);
        } else if (packed != null) {
            group.put("packed", true);
        } else if (!steps.isEmpty()) {
            Attempts attempts = new Attempts(retry, group.putArray("failures"));
            List<Transformations.Numbered> numbered = new ArrayList<>(records.size());
            for (int row = 0; row < records.size(); row++) {
                numbered.add(new Transformations.Numbered(row, records.get(row)));
            }
            List<Transformations.Numbered> left = transformations.apply(steps, numbered, attempts);
            List<byte[]> results = transformations.write(left, transformations.className(steps), attempts);
            group.put("results", results.size());
            message.bodies.addAll(results);
        }
        groups.add(group);
    }

    /** Tells the task that its offsets are stored; what it raises is logged, as in Kafka Connect. */
    void commit() {
        try {
            task.commit();
        } catch (Throwable error) {
            LOG.error("the task's commit raised", error);
        }
    }

    void commitRecords(JsonNode records) {
        for (JsonNode each : records) {
            SourceRecord record = pending.remove(each.get(0).asLong());
            RecordMetadata metadata = each.get(1).isNull() ? null : new RecordMetadata(
                new TopicPartition(each.get(1).asText(), each.get(2).asInt()), each.get(3).asLong(), 0, each.get(4).asLong(-1), -1, -1);
            try {
                task.commitRecord(record, metadata);
            } catch (Throwable error) {
                LOG.error("the task's commitRecord raised", error);
            }
        }
    }

    /** Stops the task, once, if its start was called. */
    void end() {
        isPolling = false;
        buffer.close();
        SourceTask ending = task;
        task = null;
        if (ending != null) {
            ending.stop();
        }
    }

    private final class Context implements SourceTaskContext {
        private final Map<String, String> config;

        Context(Map<String, String> config) {
            this.config = config;
        }

        @Override
        public Map<String, String> configs() {
            return config;
        }

        @Override
        public OffsetStorageReader offsetStorageReader() {
            return new OffsetReader(channel, tenant);
        }

        @Override
        public TransactionContext transactionContext() {
            return transactions;
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return registry.own();
        }
    }
}
