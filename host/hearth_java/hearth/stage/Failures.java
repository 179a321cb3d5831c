package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.NotFoundException;
import org.apache.kafka.connect.errors.RetriableException;

/** Errors as data: kind, class, message and Java's own trace. */
final class Failures {
    private static final int MESSAGE = 16_384;
    private static final int TRACE = 65_536;

    private Failures() {
    }

    /** An error of the other side, with its own description. */
    static final class RemoteException extends ConnectException {
        private static final long serialVersionUID = 1L;
        private final transient JsonNode error;

        RemoteException(JsonNode error) {
            super(error.path("class_name").asText() + ": " + error.path("message").asText());
            this.error = error;
        }
    }

    static JsonNode describe(Throwable error) {
        if (error instanceof RemoteException remote && remote.error != null) {
            return remote.error;
        }
        StringWriter trace = new StringWriter();
        error.printStackTrace(new PrintWriter(trace));
        String message = error.getMessage() == null ? "" : error.getMessage();
        String remedy = Remedies.of(error);
        ObjectNode described = JsonNodeFactory.instance.objectNode();
        described.put("kind", kind(error)).put("class_name", error.getClass().getName());
        described.put("message", cut(remedy.isEmpty() ? message : message + "; " + remedy, MESSAGE));
        return described.put("trace", cut((trace + remedy).stripTrailing(), TRACE));
    }

    private static String kind(Throwable error) {
        return error instanceof RetriableException ? "retriable" : error instanceof NotFoundException ? "not_found" : error instanceof DataException ? "data"
            : error instanceof ConfigException ? "config" : "plugin";
    }

    static JsonNode of(int row, String phase, String className, Throwable error) {
        ObjectNode failure = JsonNodeFactory.instance.objectNode().put("row", row).put("phase", phase).put("class_name", className);
        return failure.set("error", describe(error));
    }

    private static String cut(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        int half = (most - 64) / 2;
        return text.substring(0, half) + "\n... " + (text.length() - 2 * half) + " characters left out ...\n"
            + text.substring(text.length() - half);
    }
}
