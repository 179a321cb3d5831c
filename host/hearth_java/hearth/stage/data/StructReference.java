package hearth.stage.data;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;

/** The schema of a struct inside itself: that of the struct it refers to, with its own optionality and more parameters. */
final class StructReference implements Schema {
    /** The struct that references share, set once it is built. */
    static final class Target {
        Schema schema;
    }

    private final Target target;
    private final boolean isOptional;
    private final Map<String, String> own;

    StructReference(Target target, boolean isOptional, Map<String, String> own) {
        this.target = target;
        this.isOptional = isOptional;
        this.own = own;
    }

    Schema target() {
        return target.schema;
    }

    /** Returns the parameters that are not the struct's. */
    Map<String, String> ownParameters() {
        return own;
    }

    @Override
    public Type type() {
        return Type.STRUCT;
    }

    @Override
    public boolean isOptional() {
        return isOptional;
    }

    @Override
    public Object defaultValue() {
        return target.schema.defaultValue();
    }

    @Override
    public String name() {
        return target.schema.name();
    }

    @Override
    public Integer version() {
        return target.schema.version();
    }

    @Override
    public String doc() {
        return target.schema.doc();
    }

    @Override
    public Map<String, String> parameters() {
        if (own.isEmpty()) {
            return target.schema.parameters();
        }
        Map<String, String> both = new HashMap<>(own);
        if (target.schema.parameters() != null) {
            target.schema.parameters().forEach(both::putIfAbsent);
        }
        return both;
    }

    @Override
    public Schema keySchema() {
        return target.schema.keySchema();
    }

    @Override
    public Schema valueSchema() {
        return target.schema.valueSchema();
    }

    @Override
    public List<Field> fields() {
        return target.schema.fields();
    }

    @Override
    public Field field(String name) {
        return target.schema.field(name);
    }

    @Override
    public Schema schema() {
        return this;
    }

    @Override
    public boolean equals(Object other) {
        return this == other || other instanceof StructReference reference && isOptional == reference.isOptional
            && own.equals(reference.own)
            && (target == reference.target || SchemaTexts.write(target.schema).equals(SchemaTexts.write(reference.target.schema)));
    }

    @Override
    public int hashCode() {
        return Boolean.hashCode(isOptional); // the struct may not be complete
    }
}
