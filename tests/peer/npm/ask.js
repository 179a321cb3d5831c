// Reads calls of the client `kafka-connect-client`, one line of JSON for each, and writes their results.
const { KafkaConnectClient } = require("kafka-connect-client");
const readline = require("readline");

const client = new KafkaConnectClient({ protocol: "http", host: "127.0.0.1", port: Number(process.argv[2]) });

async function ask({ connector, call, args }) {
  try {
    const answer = await (connector ? client.connector(connector) : client)[call](...args);
    return { status: answer.status, data: answer.data };
  } catch (error) {
    return error.response ? { status: error.response.status, data: error.response.data } : { error: error.message };
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await ask(JSON.parse(line))) + "\n");
  }
})();
