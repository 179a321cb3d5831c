package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import hearth.stage.data.ConsumedRecord;
import hearth.stage.data.RecordBatches;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** A sink task: open, put, preCommit and close, in the order of the runtime's calls. */
final class Sink {
    private static final double MOST_SECONDS = 0.05;
    private final Channel channel;
    private final int tenant;
    private final Transformations transformations;
    private final Plugins plugins;
    private final PluginRegistry registry;
    private final Roles roles;
    private final Retry retry;
    private final AtomicLong sent = new AtomicLong();
    private SinkTask task;
    private Context context;
    private List<Transformations.Step> steps = List.of();
    private boolean isTolerant;
    private boolean wasAccepted;

    Sink(Channel channel, int tenant, Transformations transformations, Plugins plugins, PluginRegistry registry, Roles roles, Retry retry) {
        this.channel = channel;
        this.tenant = tenant;
        this.transformations = transformations;
        this.plugins = plugins;
        this.registry = registry;
        this.roles = roles;
        this.retry = retry;
    }

    void start(Request request, Answer answer) {
        Connector connector = (Connector) plugins.create(request.text("reference"));
        SinkTask made = (SinkTask) Plugins.task(connector.taskClass());
        steps = Transformations.Step.of(request.args.get("steps"));
        isTolerant = request.args.path("tolerant").asBoolean();
        context = new Context(request.config(), request.args.path("reporter").asBoolean());
        made.initialize(context);
        task = made;
        made.start(request.config());
        answer.args.put("version", made.version()).put("is_batch", false).putNull("columns").put("takes_next", true);
    }

    void open(Request request) {
        List<TopicPartition> partitions = partitions(request.args.path("partitions"));
        context.assigned.addAll(partitions);
        task.open(partitions);
    }

    /** Passes records to the task, unless the put before them did not end as the sender expected. */
    void put(Request request, Answer answer) {
        boolean applies = !request.args.hasNonNull("heard") || (wasAccepted && request.args.path("heard").asLong() == sent.get());
        wasAccepted = false;
        if (!applies) {
            answer.args.put("taken", 0);
            return;
        }
        int[] ends = new int[request.args.path("ends").size()];
        for (int place = 0; place < ends.length; place++) {
            ends[place] = request.args.path("ends").get(place).asInt();
        }
        int taken = putAll(request, ends, answer);
        answer.args.put("taken", taken);
        wasAccepted = taken == Math.max(1, ends.length);
    }

    /** Runs the puts of a call until the task sends a request or the time is used up; the first one's error is the call's. */
    private int putAll(Request request, int[] ends, Answer answer) {
        List<Transformations.Numbered> records = request.put.get();
        ArrayNode failures = answer.args.putArray("failures");
        long began = System.nanoTime();
        long longest = 0;
        int taken = 0;
        int from = 0;
        for (int place = 0; place < Math.max(1, ends.length); place++) {
            if (taken > 0 && (sent.get() != request.args.path("heard").asLong() || (System.nanoTime() - began) / 1e9 > MOST_SECONDS)) {
                break;
            }
            int to = from;
            while (to < records.size() && (ends.length == 0 || records.get(to).row() < ends[place])) {
                to++;
            }
            long putBegan = System.nanoTime();
            Attempts attempts = new Attempts(retry, Frame.JSON.createArrayNode());
            try {
                put(records.subList(from, to), attempts);
            } catch (Throwable error) {
                if (taken == 0) {
                    throw error;
                }
                answer.args.set("error", Failures.describe(error));
                break;
            } finally {
                attempts.failures().forEach(failures::add);
                longest = Math.max(longest, System.nanoTime() - putBegan);
                answer.args.put("seconds", (System.nanoTime() - began) / 1e9).put("longest", longest / 1e9);
            }
            if (attempts.count() > 0 && !isTolerant) {
                break;
            }
            from = to;
            taken++;
        }
        return taken;
    }

    private void put(List<Transformations.Numbered> records, Attempts attempts) {
        List<SinkRecord> left = new ArrayList<>();
        transformations.apply(steps, records, attempts).forEach(each -> left.add((SinkRecord) each.record()));
        if (attempts.count() == 0 || isTolerant) {
            task.put(left);
        }
    }

    void skipPuts() {
        sent.incrementAndGet();
    }

    void preCommit(Request request, Answer answer) {
        Map<TopicPartition, OffsetAndMetadata> asked = new HashMap<>();
        request.args.path("offsets").forEach(each -> asked.put(partition(each), new OffsetAndMetadata(each.get(2).asLong())));
        Map<TopicPartition, OffsetAndMetadata> agreed = task.preCommit(asked);
        ArrayNode offsets = answer.args.putArray("offsets");
        if (agreed != null) {
            agreed.forEach((partition, offset) -> offsets.add(row(partition).add(offset.offset())));
        }
    }

    void close(Request request) {
        List<TopicPartition> partitions = partitions(request.args.path("partitions"));
        try {
            task.close(partitions);
        } finally {
            partitions.forEach(context.assigned::remove);
        }
    }

    /** Stops the task, once, if its start was called. */
    void end() {
        SinkTask ending = task;
        task = null;
        if (ending != null) {
            ending.stop();
        }
    }

    private static TopicPartition partition(JsonNode row) {
        return new TopicPartition(row.get(0).asText(), row.get(1).asInt());
    }

    private static List<TopicPartition> partitions(JsonNode rows) {
        List<TopicPartition> found = new ArrayList<>();
        rows.forEach(row -> found.add(partition(row)));
        return found;
    }

    private static ArrayNode row(TopicPartition partition) {
        return Frame.JSON.createArrayNode().add(partition.topic()).add(partition.partition());
    }

    private final class Context implements SinkTaskContext {
        private final Map<String, String> config;
        private final boolean reports;
        private final Set<TopicPartition> assigned = new HashSet<>();

        Context(Map<String, String> config, boolean reports) {
            this.config = config;
            this.reports = reports;
        }

        private void ask(Answer message) {
            sent.incrementAndGet();
            channel.notify(tenant, "sink.context", message);
        }

        @Override
        public Map<String, String> configs() {
            return config;
        }

        @Override
        public void offset(Map<TopicPartition, Long> offsets) {
            Answer message = new Answer();
            ArrayNode rows = message.args.putArray("rewind");
            offsets.forEach((partition, offset) -> rows.add(row(partition).add(offset)));
            ask(message);
        }

        @Override
        public void offset(TopicPartition partition, long offset) {
            offset(Map.of(partition, offset));
        }

        @Override
        public void timeout(long timeoutMs) {
            Answer message = new Answer();
            message.args.put("timeout", timeoutMs);
            ask(message);
        }

        @Override
        public Set<TopicPartition> assignment() {
            return Set.copyOf(assigned);
        }

        private void ask(String member, TopicPartition... partitions) {
            Answer message = new Answer();
            ArrayNode rows = message.args.putArray(member);
            Arrays.stream(partitions).forEach(partition -> rows.add(row(partition)));
            ask(message);
        }

        @Override
        public void pause(TopicPartition... partitions) {
            ask("pause", partitions);
        }

        @Override
        public void resume(TopicPartition... partitions) {
            ask("resume", partitions);
        }

        @Override
        public void requestCommit() {
            Answer message = new Answer();
            message.args.put("commit", true);
            ask(message);
        }

        @Override
        public ErrantRecordReporter errantRecordReporter() {
            return reports ? Sink.this::report : null;
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return registry.own();
        }
    }

    /** Reports a bad record as it was consumed; one that the task made goes through the connector's converters. */
    private Future<Void> report(SinkRecord record, Throwable error) {
        byte[] consumed = record instanceof ConsumedRecord known ? known.consumed() : null;
        if (consumed == null && roles.hasConverters()) {
            throw new ConnectException("cannot report a record of '" + record.topic() + "' that did not come from a put: a converter"
                + " of the connector is in the same bundle as its task");
        }
        Answer message = new Answer();
        message.args.set("error", Failures.describe(error));
        message.args.put("made", consumed == null);
        message.bodies.add(consumed == null ? RecordBatches.write(List.of(record), null).get(0) : consumed);
        if (!isTolerant) {
            sent.incrementAndGet();
        }
        Future<Void> done = channel.begin(tenant, "sink.errant", message).thenApply(reply -> null);
        if (!isTolerant) {
            throw new ConnectException("Tolerance exceeded in error handler", error);
        }
        return done;
    }
}
