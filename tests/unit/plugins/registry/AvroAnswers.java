import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.Schema;

/**
 * Asks the copy of AvroData that Apicurio's converter has, which follows the rules of older versions of Confluent's. Each line
 * of the standard input is a question of `avro_question.py`; the same line with the answer goes to the standard output. Values
 * and schemas are built and shown by `Answers`.
 */
public final class AvroAnswers {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answered = (ObjectNode) JSON.readTree(line);
            Map<String, Object> config = new HashMap<>();
            answered.get("config").properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
            AvroData data = new AvroData(new AvroDataConfig(config));
            try {
                if (answered.has("avro")) {
                    read(data, answered);
                } else {
                    write(data, answered);
                }
            } catch (Exception error) {
                answered.put("error", String.valueOf(error.getMessage()));
            }
            out.println(JSON.writeValueAsString(answered));
        }
        out.flush();
    }

    private static void read(AvroData data, ObjectNode answered) throws Exception {
        org.apache.avro.Schema.Parser parser = new org.apache.avro.Schema.Parser().setValidateDefaults(false);
        org.apache.avro.Schema avro = parser.parse(answered.get("avro").asText());
        answered.put("printed", avro.toString());
        Schema schema = data.toConnectSchema(avro);
        answered.set("schema", Answers.schema(schema));
        answered.put("text", data.fromConnectSchema(schema).toString());
    }

    private static void write(AvroData data, ObjectNode answered) throws Exception {
        Schema schema = Answers.SCHEMAS.asConnectSchema(answered.get("schema"));
        org.apache.avro.Schema avro = data.fromConnectSchema(schema);
        answered.put("text", avro.toString());
        Object value = data.fromConnectData(schema, Answers.build(schema, answered.get("value")));
        if (value == null) {
            return;
        }
        if (!(value instanceof IndexedRecord)) {
            value = value.getClass().getMethod("getValue").invoke(value);
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
        new GenericDatumWriter<Object>(avro).write(value, encoder);
        encoder.flush();
        answered.put("payload", HexFormat.of().formatHex(bytes.toByteArray()));
    }
}
