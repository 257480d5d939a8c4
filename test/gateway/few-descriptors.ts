/**
 * A gateway in a process with few file descriptors, which runs out of them while it reloads, and has them again later.
 * Writes what came of it to standard output as JSON.
 *   sh -c 'ulimit -n 256; exec node … few-descriptors.ts'
 */
import { closeSync, openSync } from "node:fs";
import { at, until } from "../spec/kit/client.ts";
import { echoEntry } from "../spec/kit/config.ts";
import { startGateway } from "../spec/kit/gateway.ts";

/** More than the limit that the process is started with. */
const DESCRIPTORS_MAX = 4096;

const closings: (() => Promise<void>)[] = [];
const template = (text: string) => ({
  endpoint: echoEntry({ user_prompt_template: `${text} {{input}}` }),
  root: { include: ["parts/*.yaml"] },
});
const g = await startGateway(
  { after: (close) => void closings.push(close) },
  { ...template("one"), files: { "parts/empty.yaml": "{}\n" } },
);
const answered = async () => at((await g.call({ message: "Hello" })).json, "content");
// Starts the loader's thread, which stays for the next reload, since this clock stands still.
g.rewrite(template("two"));
const before = (await g.gateway.reload()).ok;
const first = await answered();

g.rewrite(template("three"));
const held: number[] = [];
try {
  while (held.length < DESCRIPTORS_MAX) held.push(openSync("/dev/null", "r"));
} catch {
  // None is left.
}
const short = await g.gateway.reload();
for (const descriptor of held) closeSync(descriptor);
const meanwhile = await answered();
g.clock.advance(1_000);
await until(
  () => g.gateway.config.projects[0]?.endpoints[0]?.user_prompt_template?.startsWith("three") === true,
  "the retry",
);
const errors = short.errors.map(({ code, message }) => `${code} ${message}`);
process.stdout.write(
  JSON.stringify({
    before,
    first,
    held: held.length,
    ok: short.ok,
    errors,
    meanwhile,
    after: await answered(),
  }),
);
for (const close of closings) await close();
