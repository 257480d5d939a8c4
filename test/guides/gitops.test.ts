/** docs/guides/gitops.md: each command of it, in its order, in an empty folder. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { verifies } from "../spec/verifies.ts";
import { Shell } from "./shell.ts";

const GUIDE = readFileSync(new URL("../../docs/guides/gitops.md", import.meta.url), "utf8");

/** What stands in `sh` fences; what needs a running gateway stands in `console` fences, and other tests run it. */
function commandsOf(guide: string): readonly string[] {
  return [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands = ""]) => commands);
}

verifies("docs.guides.run", "every command of the GitOps guide does what the guide says", async (t) => {
  const shell = new Shell(t);
  const blocks = commandsOf(GUIDE);
  assert.ok(blocks.length >= 8, `${blocks.length} blocks of commands`);
  const marked = blocks.map((block, n) => `echo '=== ${n}'\n${block}`).join("\n");
  const { status, output } = await shell.run(marked);
  assert.equal(status, 0, output);
  const outputs = output.split(/^=== \d+$/m).slice(1);
  const shown = (part: string): string => outputs[blocks.findIndex((block) => block.includes(part))] ?? "";
  assert.match(shown("sluice validate --no-secrets\n"), /^ok: 1 file, 1 project, 1 endpoint/m);
  assert.match(shown("sluice test --init"), /passed/);
  assert.match(shown("s/rate_limit_per_minute: 60/"), /breaking +P107 .*lowered from 60 to 20/s);
  assert.match(shown("not without a reason"), /not without a reason/);
  assert.match(shown("sluice: accept P107"), /the provider lowered our quota/);
  assert.match(shown("sluice explain"), /credit card/i);
  assert.match(shown("sluice plan --overlay"), /P401 .*level/s);
});
