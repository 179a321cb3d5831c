package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import hearth.stage.data.OffsetJson;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/** Reads committed source offsets from the runtime; may be called from any thread. */
record OffsetReader(Channel channel, int tenant) implements OffsetStorageReader {
    @Override
    public <T> Map<String, Object> offset(Map<String, T> partition) {
        return offsets(List.of(partition)).get(partition);
    }

    @Override
    public <T> Map<Map<String, T>, Map<String, Object>> offsets(Collection<Map<String, T>> partitions) {
        List<Map<String, T>> wanted = new ArrayList<>(partitions);
        Answer message = new Answer();
        ArrayNode list = message.args.putArray("partitions");
        wanted.forEach(partition -> list.add(OffsetJson.tree(partition)));
        JsonNode found = channel.call(tenant, "offsets.read", message).path("offsets");
        if (found.size() != wanted.size()) {
            throw new ConnectException("the runtime returned " + found.size() + " offsets for " + wanted.size() + " partitions");
        }
        Map<Map<String, T>, Map<String, Object>> offsets = new HashMap<>();
        for (int place = 0; place < wanted.size(); place++) {
            offsets.put(wanted.get(place), OffsetJson.read(found.get(place)));
        }
        return offsets;
    }
}
