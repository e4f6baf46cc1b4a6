// Calls the tool `fix` and answers its question with yes, as an agent written in TypeScript does.
// Usage: node fix_client.mjs auto|legacy COMMAND [ARGUMENT…]
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, command, ...args] = process.argv.slice(2);
const asked = [];
const heard = [];
const client = new Client(
  { name: "a client from npm", version: "1" },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
);
client.setRequestHandler("elicitation/create", (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { answer: "yes" } };
});
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const result = await client.callTool(
  { name: "fix", arguments: { apply: true } },
  { timeout: 300_000, onprogress: (progress) => heard.push(progress.message) },
);
const version = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ asked, heard, version, report: result.structuredContent }));
