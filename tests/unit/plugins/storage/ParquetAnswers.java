import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.file.SeekableByteArrayInput;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.parquet.avro.AvroParquetWriter;
import org.apache.parquet.avro.AvroSchemaConverter;
import org.apache.parquet.avro.AvroWriteSupport;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.OutputFile;
import org.apache.parquet.io.PositionOutputStream;

/**
 * Asks Java's Avro and Parquet libraries. Each line of the standard input is a case with an Avro container file (Base64)
 * that another program wrote, and whether lists of two levels are used; the line with the Parquet file that Confluent's
 * sink would write of its records goes to the standard output, with its schema as Java prints it.
 */
public final class ParquetAnswers {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answered = (ObjectNode) JSON.readTree(line);
            answer(answered);
            System.out.println(JSON.writeValueAsString(answered));
        }
    }

    private static void answer(ObjectNode node) throws IOException {
        byte[] avro = Base64.getDecoder().decode(node.get("avro").asText());
        boolean isOld = node.get("old_lists").asBoolean();
        try (DataFileReader<GenericRecord> reader =
                new DataFileReader<>(new SeekableByteArrayInput(avro), new GenericDatumReader<>())) {
            Schema schema = reader.getSchema();
            if (schema.getType() == Schema.Type.UNION) {
                schema = schema.getTypes().get(1);
            }
            Memory memory = new Memory();
            try (ParquetWriter<GenericRecord> writer = AvroParquetWriter.<GenericRecord>builder(memory)
                    .withSchema(schema)
                    .withDataModel(GenericData.get())
                    .withDictionaryEncoding(true)
                    .withCompressionCodec(CompressionCodecName.SNAPPY)
                    .withPageSize(64 * 1024)
                    .config(AvroWriteSupport.WRITE_OLD_LIST_STRUCTURE, String.valueOf(isOld))
                    .build()) {
                for (GenericRecord record : reader) {
                    writer.write(record);
                }
            }
            org.apache.hadoop.conf.Configuration conf = new org.apache.hadoop.conf.Configuration(false);
            conf.setBoolean(AvroWriteSupport.WRITE_OLD_LIST_STRUCTURE, isOld);
            node.put("schema", new AvroSchemaConverter(conf).convert(schema).toString());
            node.put("parquet", Base64.getEncoder().encodeToString(memory.out.toByteArray()));
        }
    }

    /** A file in memory. */
    private static final class Memory implements OutputFile {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();

        @Override
        public PositionOutputStream create(long blockSizeHint) {
            return new PositionOutputStream() {
                @Override
                public long getPos() {
                    return out.size();
                }

                @Override
                public void write(int octet) {
                    out.write(octet);
                }

                @Override
                public void write(byte[] data, int start, int length) {
                    out.write(data, start, length);
                }
            };
        }

        @Override
        public PositionOutputStream createOrOverwrite(long blockSizeHint) {
            return create(blockSizeHint);
        }

        @Override
        public boolean supportsBlockSize() {
            return false;
        }

        @Override
        public long defaultBlockSize() {
            return 0;
        }
    }
}
