/** What a lack of file descriptors does to a reload. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { verifies } from "../spec/verifies.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

verifies(
  ["reload.shortage", "reload.retry"],
  "a reload without file descriptors fails as a whole, keeps the configuration, and is retried",
  async (t) => {
    const program = `ulimit -n 256; exec "$0" --conditions=sluice-source --import tsx test/gateway/few-descriptors.ts`;
    const child = spawn("sh", ["-c", program, process.execPath], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(() => child.kill("SIGKILL"));
    let said = "";
    let complaint = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (complaint += text));
    const [code] = await once(child, "close");
    assert.equal(code, 0, complaint);
    const { errors, held, ...rest } = JSON.parse(said);
    assert.deepEqual(rest, {
      ...{ before: true, first: "two Hello", ok: false },
      ...{ meanwhile: "two Hello", after: "three Hello" },
    });
    assert.ok(held < 256);
    assert.equal(errors.length, 1, errors.join("\n"));
    assert.match(errors[0], /^E0901 .*could not be read: too many open files in this process \(EMFILE\)$/);
  },
);
