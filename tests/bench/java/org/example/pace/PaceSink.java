package org.example.pace;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** The sink of the bundle `pace`, in Java. */
public class PaceSink extends SinkConnector {
    private Map<String, String> props;

    @Override public String version() { return "1.0"; }
    @Override public ConfigDef config() { return PaceSource.CONFIG; }
    @Override public void start(Map<String, String> props) { this.props = props; }
    @Override public Class<? extends Task> taskClass() { return PaceTask.class; }
    @Override public List<Map<String, String>> taskConfigs(int most) { return List.of(props); }
    @Override public void stop() { }

    public static class PaceTask extends SinkTask {
        private String shape;
        private FileChannel file;
        private long count;
        private long size;
        private int reportEvery;
        private int raiseEvery;
        private long raisedAt;

        @Override public String version() { return "1.0"; }

        @Override public void start(Map<String, String> props) {
            shape = props.get("shape");
            reportEvery = Integer.parseInt(props.getOrDefault("report.every", "0"));
            raiseEvery = Integer.parseInt(props.getOrDefault("raise.every", "0"));
            try {
                file = FileChannel.open(Path.of(props.get("file")), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        @Override public void put(Collection<SinkRecord> records) {
            if (raiseEvery > 0 && count + records.size() - raisedAt >= raiseEvery) {
                raisedAt = count + records.size();
                context.timeout(1);
                throw new RetriableException("not now");
            }
            for (SinkRecord record : records) {
                size += look(record);
                if (reportEvery > 0 && record.kafkaOffset() % reportEvery == 0)
                    context.errantRecordReporter().report(record, new DataException("bad " + record.kafkaOffset()));
            }
            count += records.size();
            try {
                file.write(ByteBuffer.wrap(String.format("%012d", count).getBytes()), 0);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        @Override public void stop() {
            try {
                file.close();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        private long look(SinkRecord record) {
            if (shape.equals("struct")) return struct((Struct) record.value());
            long found = ((String) record.value()).length();
            if (shape.equals("text")) return found;
            if (shape.equals("any")) {
                for (Header header : record.headers()) found += String.valueOf(header.value()).length();
                return found;
            }
            found += ((String) record.key()).length() + record.timestamp() % 2;
            if (shape.equals("keyed")) return found;
            for (Header header : record.headers()) found += ((String) header.value()).length();
            return found;
        }

        private static long struct(Struct value) {
            long found = 0;
            for (String name : List.of("a", "b", "c", "d")) found += value.getString(name).length();
            for (String name : List.of("w", "x", "y", "z")) found += value.getInt64(name) % 2;
            return found;
        }
    }
}
