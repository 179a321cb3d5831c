package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.kafka.connect.errors.ConnectException;

/** The connection to the runtime. The reading thread runs no plugin code. */
final class Channel {
    private final DataInputStream in;
    private final OutputStream out;
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, CompletableFuture<JsonNode>> calls = new ConcurrentHashMap<>();
    private volatile boolean isClosed;

    Channel(DataInputStream in, OutputStream out) {
        this.in = in;
        this.out = out;
    }

    /** Reads until the connection ends, and passes each request on. */
    void read(Consumer<Request> receive) {
        try {
            for (Frame frame = Frame.read(in); frame != null; frame = Frame.read(in)) {
                if (frame.header().has("op")) {
                    receive.accept(new Request(this, frame));
                } else {
                    complete(frame.header());
                }
            }
        } catch (IOException error) {
            // a stream that breaks off, or a malformed frame, ends the connection
        } finally {
            isClosed = true;
            calls.values().forEach(call -> call.completeExceptionally(new ConnectException("the runtime is gone")));
        }
    }

    private void complete(JsonNode header) {
        CompletableFuture<JsonNode> call = calls.remove(header.path("re").asLong());
        if (call != null) {
            if (header.hasNonNull("error")) {
                call.completeExceptionally(new Failures.RemoteException(header.get("error")));
            } else {
                call.complete(header.path("args"));
            }
        }
    }

    /** Sends a call. */
    CompletableFuture<JsonNode> begin(int tenant, String op, Answer message) {
        long number = numbers.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        calls.put(number, answer);
        ObjectNode header = Frame.JSON.createObjectNode().put("id", number).put("op", op);
        send(tenant, header, message);
        if (isClosed) {
            answer.completeExceptionally(new ConnectException("the runtime is gone"));
        }
        return answer;
    }

    /** Sends a call and waits for its answer. */
    JsonNode call(int tenant, String op, Answer message) {
        try {
            return begin(tenant, op, message).get();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new ConnectException("interrupted while waiting for the answer to " + op, error);
        } catch (ExecutionException error) {
            throw error.getCause() instanceof RuntimeException cause ? cause : new ConnectException(error.getCause());
        }
    }

    void notify(int tenant, String op, Answer message) {
        send(tenant, Frame.JSON.createObjectNode().put("op", op), message);
    }

    private void send(int tenant, ObjectNode header, Answer message) {
        if (tenant != 0) {
            header.put("tenant", tenant);
        }
        header.set("args", message.args);
        write(header, message.bodies);
    }

    void write(ObjectNode header, List<byte[]> bodies) {
        synchronized (out) {
            try {
                Frame.write(out, header, bodies);
            } catch (IOException error) {
                isClosed = true; // the runtime has ended, so the answer is not read
            }
        }
    }
}
