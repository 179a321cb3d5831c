package hearth.stage.data;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.connect.json.JsonConverter;

/** Source offsets and source partitions as the JSON that Kafka Connect stores. */
public final class OffsetJson {
    private static final JsonConverter CONVERTER = new JsonConverter();

    static {
        CONVERTER.configure(Map.of("schemas.enable", false), false);
    }

    private OffsetJson() {
    }

    /** Returns the text of an offset, null for none; members keep the map's order. */
    public static String write(Map<String, ?> offset) {
        if (offset == null) {
            return null;
        }
        return new String(CONVERTER.fromConnectData("", null, offset), StandardCharsets.UTF_8);
    }

    /** Returns the JSON of an offset as a tree. */
    public static JsonNode tree(Map<String, ?> offset) {
        return PlainJson.parse(write(offset));
    }

    /** Returns an offset: whole numbers are {@code Long}, fractions {@code Double}. */
    public static Map<String, Object> read(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        Map<String, Object> members = new LinkedHashMap<>();
        node.properties().forEach(member -> members.put(member.getKey(), PlainJson.plain(member.getValue())));
        return members;
    }

    static Map<String, Object> read(String text) {
        return text == null ? null : read(PlainJson.parse(text));
    }
}
