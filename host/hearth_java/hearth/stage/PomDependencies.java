package hearth.stage;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/** The artifacts that the poms in a bundle's jars name, which say where a missing class would be. */
final class PomDependencies {
    private static final int MOST_BYTES = 1 << 20;
    private static final int MOST_KNOWN = 1_000;
    private final Map<String, String> known = new ConcurrentHashMap<>();
    private final List<Path> jars;

    PomDependencies(List<Path> jars) {
        this.jars = List.copyOf(jars);
    }

    /** Returns the artifact whose group is the longest start of the class's name, an empty text if no pom names one. */
    String artifactOf(String className) {
        if (known.size() >= MOST_KNOWN) {
            known.clear();
        }
        return known.computeIfAbsent(className, this::find);
    }

    private String find(String className) {
        String best = "";
        for (Path jar : jars) {
            for (String dependency : dependencies(jar)) {
                String group = member(dependency, "groupId");
                String artifact = member(dependency, "artifactId");
                boolean isForTests = "test".equals(member(dependency, "scope"));
                boolean isThere = jars.stream().anyMatch(each -> each.getFileName().toString().startsWith(artifact + "-"));
                if (className.startsWith(group + ".") && group.length() > best.indexOf(':') && !artifact.isEmpty() && !isThere && !isForTests) {
                    best = group + ":" + artifact;
                }
            }
        }
        return best;
    }

    private static List<String> dependencies(Path jar) {
        if (!Files.isRegularFile(jar)) {
            return List.of();
        }
        StringBuilder poms = new StringBuilder();
        try (ZipFile archive = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : (Iterable<ZipEntry>) archive.stream().<ZipEntry>map(each -> each)::iterator) {
                if (entry.getName().startsWith("META-INF/maven/") && entry.getName().endsWith("/pom.xml") && poms.length() < MOST_BYTES) {
                    try (InputStream content = archive.getInputStream(entry)) {
                        poms.append(new String(content.readNBytes(MOST_BYTES), StandardCharsets.UTF_8));
                    }
                }
            }
        } catch (IOException error) {
            return List.of();
        }
        List<String> parts = List.of(poms.toString().split("<dependency>"));
        return parts.subList(1, parts.size());
    }

    private static String member(String dependency, String name) {
        int start = dependency.indexOf("<" + name + ">");
        int end = dependency.indexOf("</" + name + ">");
        return start < 0 || end < start ? "" : dependency.substring(start + name.length() + 2, end).strip();
    }
}
