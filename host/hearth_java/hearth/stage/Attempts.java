package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.Callable;

/** Runs plugins on single records and collects the rows that fail: Kafka Connect's operator without the tolerance. */
final class Attempts {
    private final Retry retry;
    private final ArrayNode failures;

    /** Collects failures in a list of failure objects. */
    Attempts(Retry retry, ArrayNode failures) {
        this.retry = retry;
        this.failures = failures;
    }

    /** Returns the result for a row, null if it fails; an {@code Error} is no record's fault and fails the call. */
    <T> T run(int row, String phase, String className, Callable<T> operation) {
        if (isOver()) {
            ObjectNode last = failures.get(failures.size() - 1).deepCopy();
            failures.add(last.put("row", row));
            return null;
        }
        try {
            return retry.run(operation);
        } catch (Exception error) {
            failures.add(Failures.of(row, phase, className, error));
            return null;
        }
    }

    /** Returns whether a row has failed and nothing is tolerated. */
    boolean isOver() {
        return retry.isStrict() && !failures.isEmpty();
    }

    int count() {
        return failures.size();
    }

    JsonNode failures() {
        return failures;
    }
}
