package hearth.stage;

import hearth.stage.data.ConsumedRecords;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.errors.ConnectException;

/** The records of a put, decoded while the task still works on the put before. */
final class PutRecords {
    private static final ExecutorService DECODERS = decoders();
    private final Future<List<Transformations.Numbered>> records;

    private PutRecords(Future<List<Transformations.Numbered>> records) {
        this.records = records;
    }

    /** Begins to decode; called on the reading thread, which does not wait. */
    static PutRecords of(Request request) {
        return new PutRecords(DECODERS.submit(() -> read(request)));
    }

    /** Waits for the records; an error of a body is raised here. */
    List<Transformations.Numbered> get() {
        try {
            return records.get();
        } catch (ExecutionException error) {
            throw Plugins.<RuntimeException>raised(error.getCause());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new ConnectException("interrupted while a put was decoded", error);
        }
    }

    private static List<Transformations.Numbered> read(Request request) {
        int own = request.bodies.size() - request.args.path("consumed").asInt();
        List<byte[]> consumed = request.bodies.subList(own, request.bodies.size());
        return Transformations.read(request.bodies.subList(0, own), false, consumed.isEmpty() ? null : new ConsumedRecords(consumed));
    }

    private static ExecutorService decoders() {
        int most = Runtime.getRuntime().availableProcessors();
        ThreadPoolExecutor made = new ThreadPoolExecutor(most, most, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
            Thread thread = new Thread(task, "stage-decoder");
            thread.setDaemon(true);
            return thread;
        });
        made.allowCoreThreadTimeOut(true);
        return made;
    }
}
