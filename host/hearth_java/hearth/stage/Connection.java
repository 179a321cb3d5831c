package hearth.stage;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** The two streams of a socket channel; unlike those of {@code Channels} in Java 17, a read never blocks a write. */
final class Connection {
    private static final int CHUNK = 1 << 20;

    private Connection() {
    }

    static InputStream input(SocketChannel channel) {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
            }

            @Override
            public int read(byte[] bytes, int offset, int length) throws IOException {
                return length == 0 ? 0 : channel.read(ByteBuffer.wrap(bytes, offset, Math.min(length, CHUNK)));
            }
        };
    }

    static OutputStream output(SocketChannel channel) {
        return new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                write(new byte[] {(byte) one}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                for (int done = 0; done < length; ) {
                    done += channel.write(ByteBuffer.wrap(bytes, offset + done, Math.min(length - done, CHUNK)));
                }
            }
        };
    }
}
