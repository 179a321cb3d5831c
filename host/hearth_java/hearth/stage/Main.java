package hearth.stage;

import hearth.stage.log.LogOutput;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import sun.misc.Signal;

/** Starts a stage: {@code java … hearth.stage.Main DIRECTORY}, whose standard input is the connection to the runtime. */
public final class Main {
    private Main() {
    }

    /** Serves the connection until it ends. */
    public static void main(String[] arguments) throws Exception {
        SocketChannel connection = (SocketChannel) System.inheritedChannel();
        System.setIn(InputStream.nullInputStream());
        LogOutput.begin();
        for (String name : new String[] {"INT", "TERM"}) {
            Signal.handle(new Signal(name), signal -> { }); // the runtime drains the task, then ends its stages
        }
        OutputStream out = Connection.output(connection);
        DataInputStream in = new DataInputStream(new BufferedInputStream(Connection.input(connection), 1 << 16));
        new Stage(new Channel(in, out), new Plugins(Path.of(arguments[0]))).run();
        Runtime.getRuntime().halt(0); // a thread that a plugin left must not keep the process
    }
}
