import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.runtime.ConnectMetrics;
import org.apache.kafka.connect.runtime.ConnectorConfig;
import org.apache.kafka.connect.runtime.SinkConnectorConfig;
import org.apache.kafka.connect.runtime.SourceConnectorConfig;
import org.apache.kafka.connect.runtime.TransformationChain;
import org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter;
import org.apache.kafka.connect.runtime.errors.ErrorHandlingMetrics;
import org.apache.kafka.connect.runtime.errors.ErrorReporter;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;
import org.apache.kafka.connect.runtime.errors.RetryWithToleranceOperator;
import org.apache.kafka.connect.runtime.errors.Stage;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.util.ConnectUtils;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Asks Kafka Connect what becomes of records in a pipeline. Each line of the standard input is a pipeline as
 * tests.peer.fuzz draws them; a line with the answers to its records goes to the standard output. Values have the forms
 * that Answers gives them. Converters, chain, tolerance and dead letters are Kafka's own, called in the order in which
 * a task calls them.
 */
public final class Pipelines {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ConnectorTaskId TASK = new ConnectorTaskId("c", 0);
    private static final Map<String, String> WORKER = Map.of(
        "bootstrap.servers", "127.0.0.1:1", "offset.storage.file.filename", "/dev/null",
        "key.converter", "org.apache.kafka.connect.json.JsonConverter",
        "value.converter", "org.apache.kafka.connect.json.JsonConverter");
    private static final Plugins PLUGINS = new Plugins(Map.of("plugin.discovery", "service_load"));
    private static final ConnectMetrics METRICS = new ConnectMetrics("w", new StandaloneConfig(WORKER), Time.SYSTEM, "id");
    private static final ErrorHandlingMetrics ERRORS = new ErrorHandlingMetrics(TASK, METRICS);
    private static final Letters LETTERS = new Letters();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(answers(JSON.readTree(line))));
            out.flush();
        }
        System.exit(0);
    }

    private static ArrayNode answers(JsonNode drawn) throws Exception {
        Map<String, String> config = new HashMap<>();
        drawn.get("config").properties().forEach(each -> config.put(each.getKey(), each.getValue().asText()));
        ArrayNode answers = JSON.createArrayNode();
        Run run;
        try {
            run = drawn.get("type").asText().equals("source") ? new Source(config)
                : new Sink(config, drawn.get("has_times").asBoolean());
        } catch (RuntimeException error) {
            answers.addObject().put("refused", true).put("why", String.valueOf(error));
            return answers;
        }
        int offset = 0;
        for (JsonNode record : drawn.get("records")) {
            ObjectNode answer = answers.addObject();
            try {
                run.take(record, offset++, answer);
            } catch (RuntimeException error) {
                answer.put("end", String.valueOf(error.getMessage()));
                return answers;
            }
        }
        return answers;
    }

    /** A task with the settings of a connector. */
    private abstract static class Run {
        final Converter key;
        final Converter value;
        final HeaderConverter header;

        Run(ConnectorConfig config) {
            key = converter(config, "key.converter");
            value = converter(config, "value.converter");
            HeaderConverter own = PLUGINS.newHeaderConverter(config, "header.converter", "header.converter.plugin.version");
            header = own != null ? own : PLUGINS.newHeaderConverter(
                new StandaloneConfig(WORKER), "header.converter", "header.converter.plugin.version");
        }

        private static Converter converter(ConnectorConfig config, String role) {
            return PLUGINS.newConverter(config, role, role + ".plugin.version");
        }

        abstract void take(JsonNode record, int offset, ObjectNode answer) throws Exception;
    }

    private static <T> RetryWithToleranceOperator<T> operator(ConnectorConfig config, List<ErrorReporter<T>> reporters) {
        RetryWithToleranceOperator<T> made = new RetryWithToleranceOperator<>(
            config.errorRetryTimeout(), config.errorMaxDelayInMillis(), config.errorToleranceType(), Time.SYSTEM, ERRORS);
        made.reporters(reporters);
        return made;
    }

    /** Tells of a failure what a reporter is told. */
    private static final class Reported<T> implements ErrorReporter<T> {
        ObjectNode answer;

        @Override
        public Future<RecordMetadata> report(ProcessingContext<T> context) {
            ObjectNode failed = answer.putObject("failed");
            failed.put("stage", context.stage().name());
            failed.put("class", context.executingClass().getName());
            failed.put("exception", context.error().getClass().getName());
            failed.put("message", context.error().getMessage());
            return CompletableFuture.completedFuture(null);
        }
    }

    private static final class Source extends Run {
        private final Reported<SourceRecord> reported = new Reported<>();
        private final RetryWithToleranceOperator<SourceRecord> operator;
        private final TransformationChain<SourceRecord, SourceRecord> chain;

        Source(Map<String, String> settings) {
            this(new SourceConnectorConfig(PLUGINS, settings, false));
        }

        private Source(SourceConnectorConfig config) {
            super(config);
            operator = operator(config, List.of(reported));
            chain = new TransformationChain<>(config.<SourceRecord>transformationStages(PLUGINS, TASK, METRICS), operator);
        }

        @Override
        void take(JsonNode told, int offset, ObjectNode answer) throws Exception {
            SchemaAndValue key = typed(told.get("key"));
            SchemaAndValue value = typed(told.get("value"));
            ConnectHeaders headers = new ConnectHeaders();
            for (JsonNode each : told.get("headers")) {
                headers.add(each.get(0).asText(), typed(each.get(1)));
            }
            Integer partition = told.get("partition").isNull() ? null : told.get("partition").asInt();
            Long timestamp = told.get("timestamp").isNull() ? null : told.get("timestamp").asLong();
            reported.answer = answer;
            send(new SourceRecord(Map.of(), Map.of(), told.get("topic").asText(), partition, key.schema(), key.value(),
                value.schema(), value.value(), timestamp, headers), answer);
        }

        private void send(SourceRecord polled, ObjectNode answer) {
            ProcessingContext<SourceRecord> context = new ProcessingContext<>(polled);
            SourceRecord record = chain.apply(context, polled);
            if (record == null) {
                if (!context.failed()) {
                    answer.put("dropped", true);
                }
                return;
            }
            RecordHeaders headers = operator.execute(context, () -> written(record), Stage.HEADER_CONVERTER, header.getClass());
            byte[] keyBytes = operator.execute(context,
                () -> key.fromConnectData(record.topic(), headers, record.keySchema(), record.key()),
                Stage.KEY_CONVERTER, key.getClass());
            byte[] valueBytes = operator.execute(context,
                () -> value.fromConnectData(record.topic(), headers, record.valueSchema(), record.value()),
                Stage.VALUE_CONVERTER, value.getClass());
            if (!context.failed()) {
                sent(answer.putArray("sent"), new ProducerRecord<>(record.topic(), record.kafkaPartition(),
                    ConnectUtils.checkAndConvertTimestamp(record.timestamp()), keyBytes, valueBytes, headers));
            }
        }

        private RecordHeaders written(SourceRecord record) {
            RecordHeaders result = new RecordHeaders();
            for (org.apache.kafka.connect.header.Header each : record.headers()) {
                result.add(each.key(), header.fromConnectHeader(record.topic(), each.key(), each.schema(), each.value()));
            }
            return result;
        }
    }

    private static final class Sink extends Run {
        private final TimestampType type;
        private final Reported<ConsumerRecord<byte[], byte[]>> reported = new Reported<>();
        private final RetryWithToleranceOperator<ConsumerRecord<byte[], byte[]>> operator;
        private final TransformationChain<ConsumerRecord<byte[], byte[]>, SinkRecord> chain;

        Sink(Map<String, String> settings, boolean hasTimes) throws Exception {
            this(new SinkConnectorConfig(PLUGINS, settings), hasTimes);
        }

        private Sink(SinkConnectorConfig config, boolean hasTimes) throws Exception {
            super(config);
            type = hasTimes ? TimestampType.CREATE_TIME : TimestampType.NO_TIMESTAMP_TYPE;
            Constructor<DeadLetterQueueReporter> letters = DeadLetterQueueReporter.class.getDeclaredConstructor(
                KafkaProducer.class, SinkConnectorConfig.class, ConnectorTaskId.class, ErrorHandlingMetrics.class);
            letters.setAccessible(true);
            operator = operator(config, List.of(reported, letters.newInstance(LETTERS, config, TASK, ERRORS)));
            chain = new TransformationChain<>(config.<SinkRecord>transformationStages(PLUGINS, TASK, METRICS), operator);
        }

        @Override
        void take(JsonNode told, int offset, ObjectNode answer) {
            RecordHeaders headers = new RecordHeaders();
            for (JsonNode each : told.get("headers")) {
                headers.add(each.get(0).asText(), bytes(each.get(1)));
            }
            ConsumerRecord<byte[], byte[]> consumed = new ConsumerRecord<>("topic-in", 3, offset,
                told.get("timestamp").asLong(), type, 0, 0, bytes(told.get("key")),
                bytes(told.get("value")), headers, Optional.empty());
            reported.answer = answer;
            LETTERS.answer = answer;
            put(consumed, answer);
        }

        private void put(ConsumerRecord<byte[], byte[]> consumed, ObjectNode answer) {
            ProcessingContext<ConsumerRecord<byte[], byte[]>> context = new ProcessingContext<>(consumed);
            String topic = consumed.topic();
            SchemaAndValue keyRead = operator.execute(context,
                () -> key.toConnectData(topic, consumed.headers(), consumed.key()), Stage.KEY_CONVERTER, key.getClass());
            SchemaAndValue valueRead = operator.execute(context,
                () -> value.toConnectData(topic, consumed.headers(), consumed.value()), Stage.VALUE_CONVERTER, value.getClass());
            org.apache.kafka.connect.header.Headers headers = operator.execute(context,
                () -> read(consumed), Stage.HEADER_CONVERTER, header.getClass());
            if (context.failed()) {
                return;
            }
            SinkRecord record = chain.apply(context, new SinkRecord(topic, consumed.partition(), keyRead.schema(),
                keyRead.value(), valueRead.schema(), valueRead.value(), consumed.offset(),
                ConnectUtils.checkAndConvertTimestamp(consumed.timestamp()), consumed.timestampType(), headers));
            if (record != null) {
                put(record, answer);
            } else if (!context.failed()) {
                answer.put("dropped", true);
            }
        }

        private ConnectHeaders read(ConsumerRecord<byte[], byte[]> consumed) {
            ConnectHeaders result = new ConnectHeaders();
            for (Header each : consumed.headers()) {
                result.add(each.key(), header.toConnectHeader(consumed.topic(), each.key(), each.value()));
            }
            return result;
        }

        private static void put(SinkRecord record, ObjectNode answer) {
            ArrayNode put = answer.putArray("put").add(record.topic()).add(record.kafkaPartition())
                .add(record.kafkaOffset()).add(record.timestamp());
            boolean isHeld = typed(put, record.keySchema(), record.key()) & typed(put, record.valueSchema(), record.value());
            ArrayNode headers = put.addArray();
            for (org.apache.kafka.connect.header.Header each : record.headers()) {
                isHeld &= typed(headers.addArray().add(each.key()), each.schema(), each.value());
            }
            if (!isHeld) {
                answer.put("unheld", true);
            }
        }
    }

    /** Takes dead letters where a producer would send them. */
    private static final class Letters extends KafkaProducer<byte[], byte[]> {
        ObjectNode answer;

        Letters() {
            super(Map.of("bootstrap.servers", "127.0.0.1:1"), new ByteArraySerializer(), new ByteArraySerializer());
        }

        @Override
        public Future<RecordMetadata> send(ProducerRecord<byte[], byte[]> letter, Callback callback) {
            sent(answer.putArray("letter"), letter);
            return CompletableFuture.completedFuture(null);
        }
    }

    private static void sent(ArrayNode answer, ProducerRecord<byte[], byte[]> record) {
        answer.add(record.topic()).add(record.partition()).add(record.timestamp());
        answer.add(base64(record.key())).add(base64(record.value()));
        ArrayNode headers = answer.addArray();
        for (Header each : record.headers()) {
            boolean isTrace = each.key().equals("__connect.errors.exception.stacktrace");
            headers.addArray().add(each.key()).add(base64(isTrace ? begin(each.value()) : each.value()));
        }
    }

    /** Returns what a trace says before it tells the way there, which no other language has. */
    private static byte[] begin(byte[] trace) {
        return new String(trace, StandardCharsets.UTF_8).split("\n\tat ", 2)[0].getBytes(StandardCharsets.UTF_8);
    }

    private static SchemaAndValue typed(JsonNode told) throws Exception {
        if (told.isNull()) {
            return SchemaAndValue.NULL;
        }
        Schema schema = Answers.SCHEMAS.asConnectSchema(told.get(0));
        return new SchemaAndValue(schema, Answers.build(schema, told.get(1)));
    }

    private static boolean typed(ArrayNode told, Schema schema, Object value) {
        told.add(Answers.schema(schema)).add(Answers.form(value));
        return Answers.isHeld(schema, value) && fits(schema, value);
    }

    /** Tells whether a value is what its schema says: those of headers that are read from text need not be. */
    private static boolean fits(Schema schema, Object value) {
        if (schema == null || value == null) {
            return true;
        } else if (value instanceof List<?> items) {
            return schema.type() == Schema.Type.ARRAY && items.stream().allMatch(item -> fits(schema.valueSchema(), item));
        } else if (value instanceof Map<?, ?> map) {
            return schema.type() == Schema.Type.MAP && map.entrySet().stream().allMatch(
                each -> fits(schema.keySchema(), each.getKey()) && fits(schema.valueSchema(), each.getValue()));
        }
        try {
            ConnectSchema.validateValue(schema, value);
            return true;
        } catch (DataException error) {
            return false;
        }
    }

    private static byte[] bytes(JsonNode told) {
        return told.isNull() ? null : Base64.getDecoder().decode(told.asText());
    }

    private static String base64(byte[] data) {
        return data == null ? null : Base64.getEncoder().encodeToString(data);
    }
}
