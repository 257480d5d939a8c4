/** `sluice status` and `sluice reload` against a running gateway. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { AdminError } from "../../src/cli/admin-client.ts";
import type { CliIo } from "../../src/cli/command.ts";
import { watchStatus } from "../../src/cli/status/watch.ts";
import { visibleWidth } from "../../src/cli/terminal.ts";
import { assertAnswered, assertRefused, at } from "../spec/kit/client.ts";
import { type ConfigParts, hashOf, TOKENS } from "../spec/kit/config.ts";
import { type Harness, type StartOptions, startGateway } from "../spec/kit/gateway.ts";
import { PROGRAM } from "../spec/kit/process.ts";
import { verifies } from "../spec/verifies.ts";
import { type Ran, run } from "./kit.ts";

const OPERATOR = "gw_live_operator0Ops9";
const ENV = { SLUICE_ADMIN_TOKEN: OPERATOR };

function operated(parts: StartOptions = {}): StartOptions {
  return {
    ...parts,
    root: { control_plane: { tokens: [{ name: "ops", hash: hashOf(OPERATOR) }] }, ...parts.root },
  };
}

async function ask(g: Harness, line: string, about: Partial<CliIo> = {}): Promise<Ran> {
  const args = [...line.split(" "), "--url", g.admin.origin];
  const ran = await run(args, { env: ENV, cwd: g.folder, ...about });
  assert.ok(!`${ran.stdout}${ran.stderr}`.includes(OPERATOR), "the token is printed nowhere");
  return ran;
}

verifies(
  ["status.view", "status.exit"],
  "status shows what needs attention first and sums up in its last line, within 80 columns",
  async (t) => {
    const g = await startGateway(t, {
      ...operated({
        endpoint: { estimated_cost_per_1k_tokens_usd: 1, monthly_budget_usd: 10, max_output_tokens: 1 },
      }),
      env: { SLUICE_REVISION: "release-7" },
    });
    g.clock.advance(90 * 60_000);
    g.provider.says("Yes.", { usage: { prompt: 9000, completion: 0 } });
    assertAnswered(await g.call({ message: "hi" }));
    g.provider.failsWith(500);
    for (let n = 0; n < 5; n++) assertRefused(await g.call({ message: "hi" }), 502, /./);
    const { code, stdout, stderr } = await ask(g, "status");
    assert.deepEqual([code, stderr], [0, ""]);
    const lines = stdout.split("\n");
    assert.match(lines[0] ?? "", /^● ready for 1 h 30 min {2}Sluice \S+ at http:\/\/127\.0\.0\.1:\d+$/);
    assert.deepEqual(lines.slice(2, 6), [
      "Needs attention",
      "  ! 83 % of calls fail (0.083/s answered 5xx)",
      "  ! circuit open: openai/gpt-4o-mini (credential main)",
      "  ! budget of Support/ask: 90 % of $10.00 used",
    ]);
    for (const part of [
      /^ {2}generation {4}1$/m,
      /^ {2}revision {6}release-7$/m,
      /^ {2}last load {5}applied 1 h 30 min ago \(2026-05-14 12:00:00 UTC\), /m,
      /^ {2}state {9}in memory$/m,
      /^ {2}calls {9}0\.1\/s over 60 s$/m,
      /^ {2}today {14}6 {8}5 {10}0 {4}9,000 {3}\$9\.00$/m,
      /^ {2}store {10}\$9\.00 settled, \$0\.00 reserved this month, of all processes$/m,
    ])
      assert.match(stdout, part);
    assert.ok(stdout.endsWith("\nStatus: ready, 3 warnings.\n"), stdout);
    for (const line of lines) assert.ok(visibleWidth(line) <= 80, line);
  },
);

verifies("status.view", "a rejected reload is shown with its frames, files named from here", async (t) => {
  const g = await startGateway(t, operated());
  g.rewrite(operated({ endpoint: { temperatur: 1 } }));
  assert.equal((await ask(g, "reload")).code, 1);
  const { code, stdout } = await ask(g, "status");
  assert.equal(code, 0);
  assert.match(
    stdout,
    /\n {2}✗ the reload just now was rejected; generation 1 stays in effect\n {4}error\[E0101\]: /,
  );
  assert.match(stdout, /\n {4}\s*--> gateway\.config\.yaml:\d+:\d+\n/);
  assert.match(stdout, /help: did you mean `temperature`\?/);
  assert.match(stdout, /\n {2}last load {5}rejected just now /);
  assert.ok(stdout.endsWith("Status: ready, 1 error.\n"), stdout);
  const colored = await ask(g, "status", { isTerminal: true, columns: 200 });
  assert.ok(colored.stdout.includes("\x1b[31m✗\x1b[39m"));
  assert.equal(
    stripVTControlCharacters(colored.stdout).split("\n").length,
    stdout.split("\n").length,
    "colors add no line",
  );
});

verifies("status.json", "status as JSON is the overview that the gateway answers", async (t) => {
  const g = await startGateway(t, operated());
  const { code, stdout } = await ask(g, "status --output json");
  assert.equal(code, 0);
  const { json } = await g.admin.send("/admin/v1/overview", { method: "GET", token: OPERATOR });
  assert.equal(at(JSON.parse(stdout), "config", "hash"), at(json, "config", "hash"));
  assert.deepEqual(Object.keys(JSON.parse(stdout)), Object.keys(Object(json)));
});

/** A server that answers everything alike. */
async function answering(t: TestContext, status: number, body: string): Promise<string> {
  const server = createServer((_req, res) => res.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  // A server that listens on TCP has such an address.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

verifies("operate.errors", "what keeps a gateway from answering is told with what to do", async (t) => {
  const g = await startGateway(t, operated());
  const cases: readonly (readonly [args: string, env: CliIo["env"], message: RegExp])[] = [
    [
      "--url http://127.0.0.1:1",
      ENV,
      /^nothing listens on http:\/\/127\.0\.0\.1:1; start the gateway, or name/,
    ],
    [`--url ${g.admin.origin}`, {}, /^SLUICE_ADMIN_TOKEN is not set; set it to .*control_plane\.tokens/],
    [
      `--url ${g.admin.origin}`,
      { SLUICE_ADMIN_TOKEN: TOKENS.web },
      /^the gateway rejects the token in SLUICE_/,
    ],
    [
      `--url ${g.client.origin}`,
      ENV,
      /is the public listener; name the admin listener \(admin\.host, admin\.port\)/,
    ],
    [
      `--url ${await answering(t, 200, "<html>")}`,
      ENV,
      /answers 200 without JSON: it does not look like an admin/,
    ],
    [`--url ${await answering(t, 404, "")}`, ENV, /answers 404: it does not look like an admin listener/],
    [
      `--url ${await answering(t, 404, '{"ready":true,"generation":3}')}`,
      ENV,
      /is an admin listener of an older version of Sluice/,
    ],
    [
      `--url ${await answering(t, 200, '{"ok":true}')}`,
      ENV,
      /answers an overview of another version of Sluice \(body\.\w+ is missing\)/,
    ],
    ["--url ftp://gateway", ENV, /^invalid --url 'ftp:\/\/gateway'; expected one such as http/],
    ["--url http://me:secret@gateway", ENV, /^--url must not hold a user or password/],
    ["--config none.yaml", ENV, /^none\.yaml cannot be read as a configuration; name the admin listener/],
  ];
  for (const [args, env, message] of cases) {
    const { code, stdout, stderr } = await run(["status", ...args.split(" ")], { env, cwd: g.folder });
    assert.deepEqual([code, stdout], [1, ""], args);
    assert.match(stderr, new RegExp(`^sluice status: (?:\\S+ )?${message.source.replace(/^\^/, "")}`), args);
  }
});

verifies(
  "operate.address",
  "the address comes from the configuration, even from an invalid one",
  async (t) => {
    const g = await startGateway(t, operated());
    const { port } = new URL(g.admin.origin);
    const status = async (text: string, ...args: string[]): Promise<Ran> => {
      writeFileSync(join(g.folder, "here.yaml"), text);
      return run(["status", "--config", "here.yaml", ...args], { env: ENV, cwd: g.folder });
    };
    assert.equal((await status(`version: 1\nadmin: { port: ${port} }\n`)).code, 0);
    assert.equal(
      (await status(`version: 1\nadmin: { host: 0.0.0.0, port: ${port} }\nnonsense: 1\n`)).code,
      0,
    );
    const off = await status("version: 1\nadmin: { enabled: false }\n");
    assert.match(off.stderr, /here\.yaml has no admin listener \(admin\.enabled is false\)/);
    const free = await status("version: 1\nadmin: { port: 0 }\n");
    assert.match(
      free.stderr,
      /admin\.port is 0 in here\.yaml, so the port is not known; name the admin listener/,
    );
    writeFileSync(join(g.folder, "over.yaml"), `admin: { port: ${port} }\n`);
    assert.equal((await status("version: 1\nadmin: { port: 0 }\n", "--overlay", "over.yaml")).code, 0);
  },
);

/** A terminal or pipe whose user presses Ctrl-C when `enough` has been printed. */
function interrupted(enough: (printed: string) => boolean, about: Partial<CliIo>) {
  let printed = "";
  let stop = (): void => {};
  const io: Partial<CliIo> = {
    env: ENV,
    stdout(text) {
      printed += text;
      if (enough(printed)) setImmediate(stop);
    },
    onInterrupt(called) {
      stop = called;
      return () => (stop = () => {});
    },
    ...about,
  };
  return { io, printed: () => printed };
}

verifies("status.watch", "watching in a pipe prints a line each time, until Ctrl-C", async (t) => {
  const g = await startGateway(t, operated());
  const text = interrupted((printed) => printed.includes("\n"), { cwd: g.folder });
  assert.equal((await ask(g, "status --watch", text.io)).code, 0);
  assert.match(
    text.printed(),
    /^2026-05-14T12:00:00\.000Z ready generation=1 hash=[0-9a-f]{12} calls_per_second=0 errors_per_second=0 open_calls=0 attention=0\n$/,
  );
  const json = interrupted((printed) => printed.includes("\n"), { cwd: g.folder });
  assert.equal((await ask(g, "status --watch --output json", json.io)).code, 0);
  assert.equal(at(JSON.parse(json.printed()), "config", "generation"), 1);
});

verifies(
  "status.watch",
  "watching on a terminal draws in place and leaves the terminal as it was",
  async (t) => {
    const g = await startGateway(t, operated());
    const about = { isTerminal: true, columns: 60, rows: 12, cwd: g.folder };
    const { io, printed } = interrupted((text) => text.includes("\x1b[J"), about);
    assert.equal((await ask(g, "status --watch", io)).code, 0);
    const [opened, closed] = ["\x1b[?1049h\x1b[?25l\x1b[H", "\x1b[J\x1b[?25h\x1b[?1049l"];
    assert.ok(printed().startsWith(opened));
    const [drawn = "", left = ""] = printed().slice(opened.length).split(closed);
    const lines = drawn.split("\n").slice(0, -1);
    assert.equal(lines.length, 11, "one less than the rows");
    for (const line of lines) {
      assert.ok(line.endsWith("\x1b[0m\x1b[K"), line);
      assert.ok(visibleWidth(line) <= 60, line);
    }
    assert.match(stripVTControlCharacters(lines.at(-1) ?? ""), /^… \d+ more lines$/);
    assert.match(stripVTControlCharacters(left), /Status: ready, nothing needs attention\.\n$/);
  },
);

verifies("status.watch", "the program ends with 0 on SIGINT while it watches", async (t) => {
  const g = await startGateway(t, operated());
  const args = [...PROGRAM, "status", "--watch", "--url", g.admin.origin];
  const child = spawn(process.execPath, args, { cwd: g.folder, env: { ...process.env, ...ENV } });
  t.after(() => child.kill("SIGKILL"));
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
    if (printed.endsWith("\n")) child.kill("SIGINT");
  });
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
  assert.match(printed, /^\S+ ready generation=1 /);
});

verifies("status.watch", "a gateway that restarts is waited for; a wrong token is not", async (t) => {
  const g = await startGateway(t, operated());
  const { json } = await g.admin.send("/admin/v1/overview", { method: "GET", token: OPERATOR });
  const answers = [new AdminError("nothing listens", false), json, new AdminError("rejected", true)];
  const out = { stdout: "", stderr: "" };
  const io: CliIo = {
    ...{ stdin: async () => "", env: {}, cwd: "/", isTerminal: false },
    stdout: (text) => void (out.stdout += text),
    stderr: (text) => void (out.stderr += text),
  };
  const watching = watchStatus({
    async ask() {
      const next = answers.shift();
      if (next instanceof AdminError) throw next;
      return next as never; // What the gateway has answered.
    },
    io,
    screen: undefined,
    line: ({ ready }) => `ready: ${ready}\n`,
    pause: async () => {},
  });
  await assert.rejects(watching, /^Error: rejected$|rejected/);
  assert.deepEqual(out, { stdout: "ready: true\n", stderr: "sluice status: nothing listens\n" });
});

verifies("reload.command", "a reload prints what is in use afterwards, or why it was rejected", async (t) => {
  const g = await startGateway(t, { ...operated(), env: { SLUICE_REVISION: "release-7" } });
  const unchanged = await ask(g, "reload");
  assert.match(
    unchanged.stdout,
    /^nothing had changed: generation 1, configuration [0-9a-f]{12}, revision release-7 \(3 warnings\)\n$/,
  );
  g.rewrite(operated({ endpoint: { description: "New." }, server: { request_timeout_ms: 12_345 } }));
  const applied = await ask(g, "reload");
  assert.equal(applied.code, 0);
  assert.match(
    applied.stdout,
    /^restart needed for changes of server\napplied: generation 2, configuration /,
  );
  g.rewrite(operated({ endpoint: { temperatur: 1 } }));
  const rejected = await ask(g, "reload");
  assert.equal(rejected.code, 1);
  assert.match(rejected.stdout, /^error\[E0101\]: unknown key `temperatur`\n/);
  assert.match(rejected.stdout, /\nrejected: generation 2 stays in effect\n$/);
  const json = await ask(g, "reload --output json");
  assert.deepEqual([json.code, at(JSON.parse(json.stdout), "ok")], [1, false]);
});

async function hashInUse(g: Harness): Promise<string> {
  const { json } = await g.admin.send("/readyz", { method: "GET" });
  return String(at(json, "config_hash"));
}

verifies("reload.command.plan", "what was planned is applied, and nothing else", async (t) => {
  const first = operated();
  const second: ConfigParts = operated({ endpoint: { description: "Reviewed." } });
  const g = await startGateway(t, first);
  const from = await hashInUse(g);
  g.rewrite(second);
  assert.equal((await ask(g, "reload")).code, 0);
  const to = await hashInUse(g);
  g.rewrite(first);
  assert.equal((await ask(g, "reload")).code, 0);
  writeFileSync(
    join(g.folder, "plan.json"),
    JSON.stringify({
      plan_version: 1,
      from: { side: "git:HEAD", hash: from },
      to: { side: ".", hash: to },
      changes: [],
    }),
  );

  g.rewrite(operated({ endpoint: { description: "Edited after the review." } }));
  const edited = await ask(g, "reload --plan plan.json");
  assert.deepEqual([edited.code, edited.stdout], [1, ""]);
  assert.match(
    edited.stderr,
    new RegExp(
      `^not applied: the gateway has loaded [0-9a-f]{12}, and plan\\.json leads to ${to.slice(0, 12)}\n`,
    ),
  );
  assert.equal(await hashInUse(g), from);

  g.rewrite(second);
  const applied = await ask(g, "reload --plan plan.json");
  assert.equal(applied.code, 0);
  assert.ok(applied.stdout.includes(`configuration ${to.slice(0, 12)}`));

  const again = await ask(g, "reload --plan plan.json");
  assert.deepEqual(
    [again.code, again.stdout],
    [0, `nothing to apply: the planned configuration ${to.slice(0, 12)} is in use already\n`],
  );

  g.rewrite(operated({ endpoint: { description: "A third." } }));
  assert.equal((await ask(g, "reload")).code, 0);
  const drifted = await ask(g, "reload --plan plan.json");
  assert.equal(drifted.code, 1);
  assert.match(
    drifted.stderr,
    new RegExp(
      `^not applied: the gateway runs [0-9a-f]{12}, and plan\\.json was made for ${from.slice(0, 12)}\n`,
    ),
  );
  const json = await ask(g, "reload --plan plan.json --output json");
  assert.deepEqual([json.code, at(JSON.parse(json.stdout), "side")], [1, "running"]);
});

test("a file that is not a plan is refused before the gateway is asked", async (t) => {
  const g = await startGateway(t, operated());
  const cases: readonly (readonly [text: string, message: string])[] = [
    ["{", "is not JSON; save a plan with `sluice plan --save FILE`"],
    ["[]", "is not a plan; save one with `sluice plan --save FILE`"],
    ['{"plan_version":1,"errors":{}}', "is a plan of an invalid configuration, which no gateway would apply"],
    ['{"plan_version":2}', "has no `plan_version: 1`; save a plan with this version of Sluice"],
    ['{"plan_version":1,"from":{"hash":"a"}}', "lacks `from.hash` or `to.hash`; save the plan again"],
  ];
  for (const [text, message] of cases) {
    writeFileSync(join(g.folder, "plan.json"), text);
    const { code, stderr } = await ask(g, "reload --plan plan.json");
    assert.deepEqual([code, stderr], [1, `sluice reload: plan.json ${message}\n`]);
  }
  const { stderr } = await ask(g, "reload --plan none.json");
  assert.equal(stderr, "sluice reload: none.json cannot be read: ENOENT\n");
});
