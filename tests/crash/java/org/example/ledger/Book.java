package org.example.ledger;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.List;

/** The book of one run of a task, as the bundle `ledger` writes it: one write for each call. */
final class Book implements AutoCloseable {
    record Entry(String topic, int partition, long offset, long number) {
        boolean follows(Entry first, long count) {
            return partition == first.partition && offset == first.offset + count && number == first.number + count
                && topic.equals(first.topic);
        }
    }

    final String run = now() + "-" + ProcessHandle.current().pid();
    private final FileChannel file;

    Book(String folder, String connector, String task) {
        Path path = Path.of(folder, connector + "-" + task + "-" + run + ".book");
        try {
            file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
        note("start", "");
    }

    void note(String word, String rest) {
        write(word + " " + now() + (rest.isEmpty() ? "" : " " + rest) + "\n");
    }

    void enter(String word, List<Entry> entries) {
        StringBuilder lines = new StringBuilder();
        long now = now();
        for (int index = 0, count; index < entries.size(); index += count) {
            Entry first = entries.get(index);
            count = 1;
            while (index + count < entries.size() && entries.get(index + count).follows(first, count)) {
                count++;
            }
            lines.append(word).append(' ').append(now).append(' ').append(first.topic).append(' ')
                .append(first.partition).append(' ').append(first.offset).append(' ').append(first.number).append(' ')
                .append(count).append('\n');
        }
        write(lines.toString());
    }

    @Override
    public synchronized void close() {
        try {
            if (file.isOpen()) {
                note("stop", "");
                file.close();
            }
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private void write(String text) {
        ByteBuffer data = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        try {
            if (data.hasRemaining() && file.write(data) != data.limit()) {
                throw new IllegalStateException("the book was not written completely");
            }
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }
}
