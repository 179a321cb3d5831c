package hearth.stage.data;

import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;

/** What the records of one batch have in common; texts compare fast. */
record Kind(String topic, String keyText, String valueText, String partition, String timestampType, String originalTopic) {
    static Kind of(ConnectRecord<?> record, Map<Map<?, ?>, String> partitions) {
        String partition = null;
        String timestampType = "NoTimestampType";
        String originalTopic = null;
        if (record instanceof SourceRecord source && source.sourcePartition() != null) {
            partition = partitions.get(source.sourcePartition());
            if (partition == null) {
                partition = OffsetJson.write(source.sourcePartition());
                partitions.put(source.sourcePartition(), partition);
            }
        } else if (record instanceof SinkRecord sink) {
            timestampType = sink.timestampType().name;
            originalTopic = sink.originalTopic();
        }
        return new Kind(
            record.topic(), SchemaTexts.write(record.keySchema()), SchemaTexts.write(record.valueSchema()),
            partition, timestampType, originalTopic);
    }

    Schema keySchema() {
        return SchemaTexts.read(keyText);
    }

    Schema valueSchema() {
        return SchemaTexts.read(valueText);
    }
}
