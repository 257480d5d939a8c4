/** The player of recordings: what a recording says differently is a fault that it reports, and no end of its own. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PLAYER = fileURLToPath(new URL("recordings.ts", import.meta.url));

test("tool arguments that are not JSON are a fault, and the other recordings are played", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-recordings-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const record = (name: string, args: string): void => {
    const call = { id: "call_1", type: "function", function: { name: "tide", arguments: args } };
    const message = { role: "assistant", content: null, tool_calls: [call] };
    const answer = { id: "1", model: "m", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
    const expected = {
      finish_raw: "tool_calls",
      tool_calls: [{ name: "tide", arguments: { port: "Brest" } }],
    };
    writeFileSync(join(folder, "openai", `${name}.json`), JSON.stringify(answer));
    writeFileSync(
      join(folder, "openai", `${name}.meta.json`),
      JSON.stringify({ http_status: 200, expected }),
    );
  };
  mkdirSync(join(folder, "openai"));
  mkdirSync(join(folder, "agents"));
  writeFileSync(join(folder, "agents", "shapes.json"), "{}");
  record("a-cut", '{"port":"Bre');
  record("b-whole", '{"port":"Brest"}');
  const flags = ["--conditions=sluice-source", "--import", "tsx"];
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, PLAYER, folder], {
    encoding: "utf8",
  });
  assert.match(stdout, /FAIL openai\/a-cut \(whole\)\n +tool calls: .*notJson/, stderr);
  assert.match(stdout, /ok +openai\/b-whole/);
  assert.match(stdout, /2 recordings, 3 faults/);
  assert.equal(status, 1);
});
