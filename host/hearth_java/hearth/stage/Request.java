package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A received call or notice; a call is answered exactly once. */
final class Request {
    final String op;
    final int tenant;
    final JsonNode args;
    final List<byte[]> bodies;
    final PutRecords put;
    private final Channel channel;
    private final JsonNode id;

    Request(Channel channel, Frame frame) {
        this.channel = channel;
        op = frame.header().path("op").asText();
        tenant = frame.header().path("tenant").asInt();
        id = frame.header().get("id");
        args = frame.header().path("args");
        bodies = frame.bodies();
        put = op.equals("sink.put") ? PutRecords.of(this) : null;
    }

    void reply(Answer answer) {
        if (id != null) {
            ObjectNode header = Frame.JSON.createObjectNode().set("re", id);
            header.set("args", answer.args);
            channel.write(header, answer.bodies);
        }
    }

    void fail(Throwable error) {
        if (id != null) {
            ObjectNode header = Frame.JSON.createObjectNode().set("re", id);
            channel.write(header.set("error", Failures.describe(error)), List.of());
        }
    }

    /** Returns a member of text; one that is missing or of another type makes the message malformed. */
    String text(String name) {
        JsonNode member = args.get(name);
        if (member == null || !member.isTextual()) {
            throw new IllegalArgumentException(op + ": '" + name + "' " + (member == null ? "is missing" : "is not text"));
        }
        return member.textValue();
    }

    /** Returns an object of text to text. */
    Map<String, String> config() {
        return texts(args.get("config"));
    }

    static Map<String, String> texts(JsonNode object) {
        Map<String, String> config = new LinkedHashMap<>();
        if (object != null) {
            object.properties().forEach(member -> config.put(member.getKey(), member.getValue().isNull() ? null : member.getValue().asText()));
        }
        return config;
    }
}
