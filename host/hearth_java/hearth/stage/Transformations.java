package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import hearth.stage.data.Batch;
import hearth.stage.data.ConsumedRecords;
import hearth.stage.data.RecordBatches;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Runs steps on records in the order of their numbers; a dropped record has no result and no failure. */
final class Transformations {
    private static final String PHASE = "TRANSFORMATION";

    /** A record with its number. */
    record Numbered(int row, ConnectRecord<?> record) {
    }

    /** A transformation and its predicate. */
    record Step(String role, String predicate, boolean negate) {
        static List<Step> of(JsonNode steps) {
            List<Step> read = new ArrayList<>();
            if (steps != null) {
                steps.forEach(step -> read.add(new Step(
                    step.path("role").asText(), step.path("predicate").textValue(), step.path("negate").asBoolean())));
            }
            return read;
        }
    }

    private final Roles roles;

    Transformations(Roles roles) {
        this.roles = roles;
    }

    /** Returns the rows of bodies as records, in the order of their numbers. */
    static List<Numbered> read(List<byte[]> bodies, boolean isSource, ConsumedRecords consumed) {
        List<Numbered> records = new ArrayList<>();
        for (byte[] body : bodies) {
            Batch batch = new Batch(body);
            List<ConnectRecord<?>> own = batch.records(isSource, consumed);
            for (int place = 0; place < own.size(); place++) {
                records.add(new Numbered(batch.rows[place], own.get(place)));
            }
        }
        if (bodies.size() > 1) {
            records.sort(Comparator.comparingInt(Numbered::row));
        }
        return records;
    }

    /** Returns what is left of the records after the steps. */
    List<Numbered> apply(List<Step> steps, List<Numbered> records, Attempts attempts) {
        if (steps.isEmpty()) {
            return records;
        }
        List<Numbered> left = new ArrayList<>(records.size());
        for (Numbered each : records) {
            ConnectRecord<?> record = each.record;
            for (int place = 0; record != null && place < steps.size(); place++) {
                Step step = steps.get(place);
                ConnectRecord<?> before = record;
                record = attempts.run(each.row, PHASE, roles.className(step.role), () -> step(step, before));
            }
            if (record != null) {
                left.add(new Numbered(each.row, record));
            }
        }
        return left;
    }

    /** Runs one step; a retry evaluates the predicate again, as in Kafka Connect. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private ConnectRecord<?> step(Step step, ConnectRecord record) {
        if (step.predicate != null && ((Predicate) roles.plugin(step.predicate)).test(record) == step.negate) {
            return record;
        }
        return ((Transformation) roles.plugin(step.role)).apply(record);
    }

    /** Returns the records as numbered bodies; a record that does not match its schemas fails alone. */
    List<byte[]> write(List<Numbered> records, String className, Attempts attempts) {
        if (records.isEmpty()) {
            return List.of();
        }
        try {
            return bodies(records);
        } catch (RuntimeException error) {
            List<Numbered> fit = new ArrayList<>();
            for (Numbered each : records) {
                if (attempts.run(each.row, PHASE, className, () -> bodies(List.of(each))) != null) {
                    fit.add(each);
                }
            }
            return fit.isEmpty() ? List.of() : bodies(fit);
        }
    }

    private static List<byte[]> bodies(List<Numbered> records) {
        List<ConnectRecord<?>> own = new ArrayList<>(records.size());
        records.forEach(each -> own.add(each.record));
        return RecordBatches.write(own, records.stream().mapToInt(Numbered::row).toArray());
    }

    String className(List<Step> steps) {
        return roles.className(steps.get(steps.size() - 1).role);
    }

    /** Evaluates a predicate for each row of a body. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    void test(Request request, boolean isSource, Attempts attempts, Answer answer) {
        String role = request.text("role");
        Predicate predicate = roles.plugin(role);
        var mask = answer.args.putArray("mask");
        for (Numbered each : read(request.bodies.subList(0, 1), isSource, null)) {
            ConnectRecord record = each.record;
            mask.add(Boolean.TRUE.equals(attempts.run(each.row, PHASE, roles.className(role), () -> predicate.test(record))));
        }
    }
}
