package sample;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.TransactionContext;

/** Polls numbers, three at a time, and says where transactions end. */
public final class BoundedSource extends SourceConnector {
    private Map<String, String> config;

    @Override
    public String version() {
        return "1";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void start(Map<String, String> config) {
        this.config = config;
    }

    @Override
    public void stop() {
    }

    @Override
    public Class<? extends Task> taskClass() {
        return BoundedTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return List.of(config);
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> config) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    @Override
    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> config) {
        return ConnectorTransactionBoundaries.SUPPORTED;
    }

    /** Commits after the second number and after the third poll, and aborts after the fourth number. */
    public static final class BoundedTask extends SourceTask {
        private String topic;
        private boolean isTorn;
        private TransactionContext transactions;
        private int number;

        @Override
        public String version() {
            return "1";
        }

        @Override
        public void start(Map<String, String> config) {
            topic = config.getOrDefault("topic", "t");
            isTorn = config.containsKey("torn");
            transactions = context.transactionContext();
            Map<String, Object> stored = context.offsetStorageReader().offset(Map.of("name", "n"));
            number = stored == null ? 0 : ((Number) stored.get("position")).intValue();
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            if (number >= 9) {
                Thread.sleep(1);
                return null;
            }
            List<SourceRecord> records = new ArrayList<>();
            for (int each = 0; each < 3; each++) {
                String value = "v" + number++;
                records.add(new SourceRecord(Map.of("name", "n"), Map.of("position", number), topic, Schema.STRING_SCHEMA, value));
            }
            if (transactions != null) {
                end(records);
            }
            return records;
        }

        private void end(List<SourceRecord> records) {
            switch (number) {
                case 3 -> transactions.commitTransaction(records.get(1));
                case 6 -> transactions.abortTransaction(records.get(0));
                default -> transactions.commitTransaction();
            }
            if (isTorn) {
                transactions.commitTransaction(records.get(2));
                transactions.abortTransaction(records.get(2));
            }
        }

        @Override
        public void stop() {
        }
    }
}
