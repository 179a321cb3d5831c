package hearth.stage;

import hearth.stage.log.Levels;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** One stage process: passes each request to its tenant, and ends with the connection. */
final class Stage {
    static final int PROTOCOL = 5;
    private static final long END_MS = 5_000;
    private final Channel channel;
    private final Plugins plugins;
    private final Map<Integer, Tenant> tenants = new ConcurrentHashMap<>();

    Stage(Channel channel, Plugins plugins) {
        this.channel = channel;
        this.plugins = plugins;
    }

    void run() throws InterruptedException {
        Tenant main = new Tenant(0, channel, plugins);
        tenants.put(0, main);
        Answer hello = new Answer();
        hello.args.put("protocol", PROTOCOL).put("pid", ProcessHandle.current().pid()).put("tenants", true);
        channel.notify(0, "hello", hello);
        Thread reader = new Thread(this::read, "stage-reader");
        reader.setDaemon(true);
        reader.start();
        main.run();
        for (Tenant tenant : tenants.values()) {
            tenant.await();
        }
    }

    private void read() {
        try {
            channel.read(this::receive);
        } finally {
            tenants.values().forEach(Tenant::leave);
            try {
                Thread.sleep(END_MS);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
            Runtime.getRuntime().halt(0); // a plugin hangs
        }
    }

    private void receive(Request request) {
        switch (request.op) {
            case "stacks" -> {
                Answer answer = new Answer();
                answer.args.put("stacks", Stacks.text());
                request.reply(answer);
            }
            case "levels" -> Levels.set(Request.texts(request.args.get("levels")));
            default -> tenant(request.tenant).take(request);
        }
    }

    private Tenant tenant(int number) {
        return tenants.computeIfAbsent(number, each -> {
            Tenant made = new Tenant(each, channel, plugins);
            made.begin(() -> tenants.remove(each));
            return made;
        });
    }
}
