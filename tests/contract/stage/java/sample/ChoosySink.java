package sample;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** Creates tasks that refuse some values. */
public final class ChoosySink extends SinkConnector {
    @Override
    public String version() {
        return "3";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void start(Map<String, String> config) {
    }

    @Override
    public void stop() {
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ChoosyTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return List.of(Map.of());
    }

    /** Refuses "again" with a retriable error, and asks for a commit on "commit". */
    public static final class ChoosyTask extends SinkTask {
        @Override
        public String version() {
            return "3";
        }

        @Override
        public void start(Map<String, String> config) {
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            for (SinkRecord record : records) {
                if ("again".equals(record.value())) {
                    throw new RetriableException("again");
                }
                if ("commit".equals(record.value())) {
                    context.requestCommit();
                }
            }
        }

        @Override
        public void stop() {
        }
    }
}
