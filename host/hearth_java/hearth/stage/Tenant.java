package hearth.stage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import hearth.stage.Transformations.Step;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.connect.errors.ConnectException;
import org.slf4j.LoggerFactory;

/** Plugins that belong together, and their threads: requests run in order on one, commits on another. */
final class Tenant {
    private static final Request END = new Request(null, new Frame(Frame.JSON.createObjectNode(), List.of()));
    private final int number;
    private final Channel channel;
    private final Plugins plugins;
    private final PluginRegistry registry = new PluginRegistry();
    private final BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
    private final BlockingQueue<Request> commits = new LinkedBlockingQueue<>();
    private final CountDownLatch stopping = new CountDownLatch(1);
    private final TenantThreads threads;
    private Thread thread;
    private Thread commitThread;
    private Roles roles;
    private Retry retry;
    private boolean isSource = true;
    private Transformations transformations;
    private volatile Source source;
    private volatile Sink sink;
    private ConnectorRun connector;
    private ConfigProvider provider;
    private boolean isOver;

    Tenant(int number, Channel channel, Plugins plugins) {
        this.number = number;
        this.channel = channel;
        this.plugins = plugins;
        threads = new TenantThreads(number);
        configure(true, Retry.none(stopping));
    }

    /** Starts the thread of a tenant that shares the stage. */
    void begin(Runnable ended) {
        thread = threads.made(() -> {
            run();
            ended.run();
        }, "" + number);
        thread.start();
    }

    void await() throws InterruptedException {
        if (thread != null) {
            thread.join();
        }
    }

    /** Queues a request; called on the reading thread, so it returns at once. */
    void take(Request request) {
        switch (request.op) {
            case "stopping" -> stopping.countDown(); // the main thread may be waiting for a retry
            case "sink.skip_puts" -> sink.skipPuts(); // the puts that it skips are queued
            case "source.commit", "source.commit_records", "source.stop" -> commit(request);
            case "metrics" -> measure(request); // the main thread may be in a long poll
            default -> requests.add(request);
        }
    }

    /** Ends after the queued requests: the connection has ended. */
    void leave() {
        stopping.countDown();
        requests.add(END);
    }

    void run() {
        Tenancy.workFor(number);
        try {
            while (!isOver) {
                Request request = next();
                if (request == END) {
                    break;
                }
                serve(request);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        end();
    }

    private Request next() throws InterruptedException {
        while (requests.isEmpty() && source.mayPoll()) {
            plugins.enter();
            source.poll();
        }
        return requests.take();
    }

    private void commit(Request request) {
        if (commitThread == null) {
            commitThread = threads.made(this::serveCommits, "commits");
            commitThread.start();
        }
        commits.add(request);
    }

    private void serveCommits() {
        Tenancy.workFor(number);
        try {
            for (Request request = commits.take(); request != END; request = commits.take()) {
                if (request.op.equals("source.stop")) {
                    requests.add(request); // the commits before it are done
                } else {
                    serve(request);
                }
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private void measure(Request request) {
        threads.made(() -> serve(request), "metrics").start();
    }

    private void serve(Request request) {
        plugins.enter();
        try {
            Answer answer = new Answer();
            answer(request, answer);
            request.reply(answer);
        } catch (Throwable error) {
            request.fail(error);
        }
    }

    private void answer(Request request, Answer answer) {
        switch (request.op) {
            case "ping" -> { }
            case "tenant.end" -> end();
            case "metrics" -> metrics(answer);
            case "describe" -> Definition.describe(plugins, request, answer);
            case "validate" -> Definition.validate(plugins, request, answer);
            case "try" -> answer.args.put("contract", 0).putArray("outcomes"); // the rules are those of Python's API
            case "configure" -> configure(request);
            case "load" -> load(request, answer);
            case "apply" -> apply(request, answer);
            case "test" -> transformations.test(request, isSource, attempts(answer), answer);
            case "serialize" -> new Conversion(roles).serialize(request, attempts(answer), answer);
            case "deserialize" -> new Conversion(roles).deserialize(request, attempts(answer), answer);
            case "serialize_headers" -> new Conversion(roles).serializeHeaders(request, attempts(answer), answer);
            case "deserialize_headers" -> new Conversion(roles).deserializeHeaders(request, attempts(answer), answer);
            case "source.start" -> source.start(request, answer);
            case "source.credit" -> source.addCredit(request.args.path("count").asInt());
            case "source.hold" -> source.hold();
            case "source.resume" -> source.resume();
            case "source.commit" -> source.commit();
            case "source.commit_records" -> source.commitRecords(request.args.path("records"));
            case "source.stop" -> source.end();
            case "sink.start" -> sink.start(request, answer);
            case "sink.open" -> sink.open(request);
            case "sink.put" -> sink.put(request, answer);
            case "sink.pre_commit" -> sink.preCommit(request, answer);
            case "sink.close" -> sink.close(request);
            case "sink.stop" -> sink.end();
            case "connector.load" -> connector.load(request, answer);
            case "connector.start" -> connector.start(request);
            case "connector.task_configs" -> connector.taskConfigs(request, answer);
            case "connector.alter_offsets" -> connector.alterOffsets(request, answer);
            case "connector.exactly_once" -> connector.exactlyOnce(request, answer);
            case "connector.stop" -> connector.stop();
            case "provider.load" -> loadProvider(request);
            case "provider.get" -> get(request, answer);
            default -> throw new ConnectException(refusal(request.op));
        }
    }

    private static String refusal(String op) {
        String shown = op.length() > 200 ? op.substring(0, 200) : op;
        return switch (op.split("\\.")[0]) {
            case "policy" -> "a Java stage runs no override policies: use one of Hearth's or a Python one (" + shown + ")";
            case "extension" -> "a Java stage runs no REST extensions: they need Java Connect's REST server (" + shown + ")";
            case "token" -> "a Java stage runs no token providers: use a Python one (" + shown + ")";
            default -> "protocol " + Stage.PROTOCOL + " has no operation '" + shown + "'";
        };
    }

    private Attempts attempts(Answer answer) {
        ArrayNode failures = answer.args.putArray("failures");
        return new Attempts(retry, failures);
    }

    private void configure(Request request) {
        roles.close();
        registry.clear();
        JsonNode args = request.args;
        configure(args.path("type").asText().equals("source"), new Retry(
            args.path("retry_timeout").asLong(), args.path("retry_delay_max").asLong(), args.path("is_strict").asBoolean(), stopping));
    }

    private void configure(boolean source, Retry retry) {
        this.isSource = source;
        this.retry = retry;
        this.roles = new Roles(plugins, registry);
        this.transformations = new Transformations(roles);
        this.source = new Source(channel, number, transformations, plugins, registry, retry);
        this.sink = new Sink(channel, number, transformations, plugins, registry, roles, retry);
        this.connector = new ConnectorRun(channel, number, plugins, registry);
    }

    private void metrics(Answer answer) {
        MetricList list = new MetricList(answer.args.putArray("metrics"));
        registry.write(list);
        if (number == 0) {
            list.addBeans(); // of all tenants, because nothing says whose they are
        }
    }

    private void load(Request request, Answer answer) {
        ArrayNode versions = answer.args.putArray("versions");
        for (JsonNode each : request.args.path("plugins")) {
            versions.add(roles.load(each.path("role").asText(), each.path("class_name").asText(), each.path("reference").asText(),
                Request.texts(each.get("config"))));
        }
    }

    private void apply(Request request, Answer answer) {
        List<Step> steps = Step.of(request.args.get("steps"));
        Attempts attempts = attempts(answer);
        var left = transformations.apply(steps, Transformations.read(request.bodies, isSource, null), attempts);
        answer.bodies.addAll(transformations.write(left, transformations.className(steps), attempts));
    }

    private void loadProvider(Request request) {
        ConfigProvider made = (ConfigProvider) plugins.create(request.text("reference"));
        made.configure(request.config());
        registry.monitor(made, "provider");
        provider = made;
    }

    private void get(Request request, Answer answer) {
        HashSet<String> keys = new HashSet<>();
        request.args.path("keys").forEach(key -> keys.add(key.asText()));
        ConfigData found = provider.get(request.text("path"), keys);
        answer.args.set("data", Frame.JSON.valueToTree(found.data()));
        answer.args.put("ttl", found.ttl());
    }

    /** Stops what still runs and closes the plugins, once. */
    private void end() {
        if (isOver) {
            return;
        }
        isOver = true;
        plugins.enter();
        quietly(source::end);
        quietly(sink::end);
        quietly(connector::end);
        quietly(roles::close);
        if (provider != null) {
            quietly(() -> org.apache.kafka.common.utils.Utils.closeQuietly(provider, "config provider"));
        }
        quietly(registry::clear);
        commits.add(END);
        if (number != 0) {
            threads.reportLeft();
        }
    }

    private static void quietly(Runnable end) {
        try {
            end.run();
        } catch (Throwable error) {
            LoggerFactory.getLogger(Tenant.class).error("stopping a plugin failed", error);
        }
    }
}
