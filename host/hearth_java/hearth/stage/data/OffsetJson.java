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
        String plain = plain(offset);
        return plain != null ? plain : new String(CONVERTER.fromConnectData("", null, offset), StandardCharsets.UTF_8);
    }

    /** Returns the converter's text of plain texts, whole numbers and truth values, at a tenth of its cost; else null. */
    private static String plain(Map<String, ?> offset) {
        StringBuilder text = new StringBuilder(96).append('{');
        for (Map.Entry<?, ?> member : offset.entrySet()) {
            if (!(member.getKey() instanceof String name)) {
                return null;
            }
            text.append(text.length() > 1 ? "," : "");
            if (!append(text, name)) {
                return null;
            }
            text.append(':');
            Object value = member.getValue();
            boolean isWhole = value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte;
            if (value == null || value instanceof Boolean || isWhole) {
                text.append(value);
            } else if (!(value instanceof String content) || !append(text, content)) {
                return null;
            }
        }
        return text.append('}').toString();
    }

    /** Appends a text in quotes; returns false if JSON would escape some of it, or if it is not ASCII. */
    private static boolean append(StringBuilder text, String content) {
        for (int place = 0; place < content.length(); place++) {
            char each = content.charAt(place);
            if (each < ' ' || each > '~' || each == '"' || each == '\\') {
                return false;
            }
        }
        text.append('"').append(content).append('"');
        return true;
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
