package hearth.stage;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import hearth.stage.data.Batch;
import hearth.stage.data.BatchWriter;
import hearth.stage.data.HeaderColumn;
import hearth.stage.data.SchemaTexts;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiPredicate;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/** Runs converters and the header converter on the rows of a body. */
final class Conversion {
    private static final String BYTES = SchemaTexts.write(Schema.OPTIONAL_BYTES_SCHEMA);
    private final Roles roles;

    Conversion(Roles roles) {
        this.roles = roles;
    }

    private static String phase(String role) {
        return role.toUpperCase(java.util.Locale.ROOT).replace('.', '_');
    }

    private static List<String> roles(Request request) {
        List<String> found = new ArrayList<>();
        request.args.path("roles").forEach(role -> found.add(role.asText()));
        return found;
    }

    void serialize(Request request, Attempts attempts, Answer answer) {
        Batch batch = new Batch(request.bodies.get(0));
        String topic = request.text("topic");
        RecordHeaders[] headers = new RecordHeaders[batch.count];
        BatchWriter bytes = new BatchWriter(null, BYTES, BYTES);
        for (int row = 0; row < batch.count; row++) {
            headers[row] = batch.rawHeaders(row);
        }
        for (String role : roles(request)) {
            boolean isKey = role.equals("key.converter");
            Converter converter = roles.plugin(role);
            Object[] given = isKey ? batch.keys : batch.values;
            Schema schema = isKey ? batch.keySchema : batch.valueSchema;
            Object[] cells = new Object[batch.count];
            for (int row = 0; row < batch.count; row++) {
                int place = row;
                cells[row] = attempts.run(batch.rows[row], phase(role), roles.className(role),
                    () -> converter.fromConnectData(topic, headers[place], schema, given == null ? null : given[place]));
            }
            bytes.column(isKey ? "key" : "value", Schema.OPTIONAL_BYTES_SCHEMA, cells);
        }
        if (!roles(request).contains("value.converter")) {
            bytes.column("value", Schema.OPTIONAL_BYTES_SCHEMA, new Object[batch.count]);
        }
        ObjectNode changed = answer.args.putObject("headers");
        for (int row = 0; row < batch.count; row++) {
            if (!headers[row].equals(batch.rawHeaders(row))) {
                ArrayNode pairs = changed.putArray(Integer.toString(row));
                headers[row].forEach(header -> pairs.add(Frame.JSON.createArrayNode().add(header.key()).add(
                    header.value() == null ? null : java.util.Base64.getEncoder().encodeToString(header.value()))));
            }
        }
        answer.bodies.add(bytes.bytes());
    }

    void deserialize(Request request, Attempts attempts, Answer answer) {
        Batch batch = new Batch(request.bodies.get(0));
        String topic = request.text("topic");
        ArrayNode counts = answer.args.putArray("counts");
        for (String role : roles(request)) {
            Converter converter = roles.plugin(role);
            Object[] cells = role.equals("key.converter") ? batch.keys : batch.values;
            SchemaAndValue[] found = new SchemaAndValue[batch.count];
            for (int row = 0; row < batch.count; row++) {
                int place = row;
                SchemaAndValue one = attempts.run(batch.rows[row], phase(role), roles.className(role), () ->
                    converter.toConnectData(topic, batch.rawHeaders(place), cells == null ? null : (byte[]) cells[place]));
                found[row] = one == null ? SchemaAndValue.NULL : one;
            }
            List<byte[]> bodies = bodies(found, (place, value) -> attempts.run(
                batch.rows[place], phase(role), roles.className(role), () -> body(List.of(value), null)) != null);
            answer.bodies.addAll(bodies);
            counts.add(bodies.size());
        }
    }

    /** Returns a body for each schema; a value that {@code isFit} refuses, as it does not fit its schema, becomes null. */
    private static List<byte[]> bodies(SchemaAndValue[] found, BiPredicate<Integer, SchemaAndValue> isFit) {
        Map<String, List<Integer>> places = new LinkedHashMap<>();
        for (int row = 0; row < found.length; row++) {
            places.computeIfAbsent(Objects.toString(SchemaTexts.write(found[row].schema()), ""), text -> new ArrayList<>()).add(row);
        }
        List<byte[]> bodies = new ArrayList<>();
        for (List<Integer> own : places.values()) {
            try {
                bodies.add(body(own.stream().map(place -> found[place]).toList(), own.size() == found.length ? null : own));
            } catch (RuntimeException error) {
                for (int place : own) {
                    if (!isFit.test(place, found[place])) {
                        found[place] = SchemaAndValue.NULL;
                    }
                }
                return bodies(found, isFit);
            }
        }
        return bodies;
    }

    private static byte[] body(List<SchemaAndValue> values, List<Integer> rows) {
        Schema schema = values.get(0).schema();
        BatchWriter batch = new BatchWriter(null, null, SchemaTexts.write(schema));
        batch.column("value", schema, values.stream().map(SchemaAndValue::value).toArray());
        if (rows != null) {
            batch.column("row", Schema.INT32_SCHEMA, rows.toArray());
        }
        return batch.bytes();
    }

    void serializeHeaders(Request request, Attempts attempts, Answer answer) {
        Batch batch = new Batch(request.bodies.get(0));
        String topic = request.text("topic");
        HeaderConverter converter = roles.plugin("header.converter");
        HeaderColumn.Entries entries = new HeaderColumn.Entries(batch.count, 2);
        for (int row = 0; row < batch.count; row++) {
            int place = row;
            List<Object[]> own = attempts.run(batch.rows[row], "HEADER_CONVERTER", roles.className("header.converter"), () -> {
                List<Object[]> pairs = new ArrayList<>();
                for (Header each : batch.headers(place)) {
                    pairs.add(new Object[] {each.key(), converter.fromConnectHeader(topic, each.key(), each.schema(), each.value())});
                }
                return pairs;
            });
            if (own != null) {
                own.forEach(entries::add);
            }
            entries.next();
        }
        BatchWriter written = new BatchWriter(null, null, BYTES);
        written.column("value", Schema.OPTIONAL_BYTES_SCHEMA, new Object[batch.count]);
        written.rawHeaders(entries);
        answer.bodies.add(written.bytes());
    }

    void deserializeHeaders(Request request, Attempts attempts, Answer answer) {
        Batch batch = new Batch(request.bodies.get(0));
        String topic = request.text("topic");
        HeaderConverter converter = roles.plugin("header.converter");
        HeaderColumn.Entries entries = new HeaderColumn.Entries(batch.count, 3);
        for (int row = 0; row < batch.count; row++) {
            int place = row;
            List<Header> own = attempts.run(batch.rows[row], "HEADER_CONVERTER", roles.className("header.converter"), () -> {
                ConnectHeaders made = new ConnectHeaders();
                for (org.apache.kafka.common.header.Header raw : batch.rawHeaders(place)) {
                    made.add(raw.key(), converter.toConnectHeader(topic, raw.key(), raw.value()));
                }
                List<Header> fit = new ArrayList<>();
                HeaderColumn.Entries probe = new HeaderColumn.Entries(1, 3);
                made.forEach(header -> {
                    HeaderColumn.add(probe, header); // a value that does not fit its schema fails its row
                    fit.add(header);
                });
                return fit;
            });
            if (own != null) {
                own.forEach(header -> HeaderColumn.add(entries, header));
            }
            entries.next();
        }
        BatchWriter written = new BatchWriter(null, null, BYTES);
        written.column("value", Schema.OPTIONAL_BYTES_SCHEMA, new Object[batch.count]);
        written.headers(entries);
        answer.bodies.add(written.bytes());
    }
}
