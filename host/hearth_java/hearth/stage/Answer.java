package hearth.stage;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;

/** The members and bodies of a reply or of a message to the runtime. */
final class Answer {
    final ObjectNode args = Frame.JSON.createObjectNode();
    final List<byte[]> bodies = new ArrayList<>();
}
