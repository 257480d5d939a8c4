/** The command line of `sluice test`: which files run, what is chosen, how it ends, and that nothing secret is printed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { main } from "../../src/cli/main.ts";
import { command } from "../../src/cli/test/command.ts";
import { untilChanged } from "../../src/cli/test/watch.ts";
import { CONFIG, PROXY, reportOf, testFolder } from "../config-tests/kit.ts";
import { verifies } from "../spec/verifies.ts";

const PASSES =
  "tests:\n  - { name: passes, call: { endpoint: triage, message: hi }, expect: { status: 200 } }\n";
const FAILS =
  "tests:\n  - { name: fails, call: { endpoint: triage, message: hi }, expect: { status: 500 } }\n";

verifies(
  "tests.discovery",
  "all test files below the configuration run, each with the nearest configuration",
  async (t) => {
    const folder = testFolder(t, {
      "gateway.config.yaml": CONFIG,
      "a.test.yaml": PASSES,
      "sub/deep/b.test.yml": PASSES,
      "other/gateway.config.yaml": PROXY,
      "other/c.test.yaml": "tests:\n  - { name: proxied, call: { proxy: crm }, expect: { status: 200 } }\n",
      "node_modules/x/d.test.yaml": FAILS,
      ".hidden/e.test.yaml": FAILS,
      "notatest.yaml": FAILS,
    });
    const files = async (...args: string[]) => {
      const ran = await folder.run([...args, "--output", "json"]);
      assert.equal(ran.code, 0, ran.stdout);
      return reportOf(ran).cases.map(({ file }) => file);
    };
    assert.deepEqual(await files(), ["a.test.yaml", "other/c.test.yaml", "sub/deep/b.test.yml"]);
    assert.deepEqual(await files("sub", "a.test.yaml"), ["sub/deep/b.test.yml", "a.test.yaml"]);
    const elsewhere = await folder.run(["--output", "json"], {
      env: { SLUICE_CONFIG: "other/gateway.config.yaml" },
    });
    assert.deepEqual(
      reportOf(elsewhere).cases.map(({ file }) => file),
      ["other/c.test.yaml"],
    );
  },
);

verifies(
  "tests.documents",
  "overlays of the file and of the command line lie over the configuration",
  async (t) => {
    const off = (slug: string) => `projects:
  - uuid: 6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11
    endpoints: [{ slug: ${slug}, is_active: false }]
`;
    const folder = testFolder(t, {
      "gateway.config.yaml": CONFIG,
      "overlays/triage.yaml": off("triage"),
      "overlays/extract.yaml": off("extract"),
      "cases/a.test.yaml": `overlays: [../overlays/triage.yaml]
tests:
  - { name: of the file, call: { endpoint: triage, message: hi }, expect: { status: 404 } }
  - { name: of the command, call: { endpoint: extract, message: hi, order: 5 }, expect: { status: 404 } }
`,
    });
    assert.match((await folder.run()).stdout, /\n1 passed, 1 failed\n$/);
    assert.match(
      (await folder.run(["--overlay", "overlays/extract.yaml"])).stdout,
      /\n2 passed, 0 failed\n$/,
    );
  },
);

verifies(
  "tests.exit",
  "the exit code is 0, 1 without cases, 3 after a failure and 64 for wrong usage",
  async (t) => {
    const folder = testFolder(t, {
      "gateway.config.yaml": CONFIG,
      "ok/a.test.yaml": PASSES,
      "bad/a.test.yaml": FAILS,
    });
    assert.equal((await folder.run(["ok"])).code, 0);
    assert.equal((await folder.run()).code, 3);
    const empty = testFolder(t, { "gateway.config.yaml": CONFIG });
    const none = await empty.run();
    assert.equal(none.code, 1);
    assert.match(
      none.stderr,
      /there is no test file \(\*\.test\.yaml, \*\.test\.yml\) below .*\nsluice test --init writes one/,
    );
    const wrong: readonly (readonly [string[], RegExp])[] = [
      [["--output", "xml"], /invalid --output 'xml'; expected text, json, junit, tap or github/],
      [
        ["--coverage-threshold", "high"],
        /invalid --coverage-threshold 'high'; expected a number from 0 to 100/,
      ],
      [["--coverage-threshold", "101"], /expected a number from 0 to 100/],
      [["--run", "("], /invalid --run '\(': /],
      [["--watch", "--output", "json"], /--watch prints text/],
      [["--init", "a.test.yaml", "b.test.yaml"], /expected at most one FILE/],
    ];
    for (const [args, message] of wrong) {
      const { code, stderr } = await folder.run(args);
      assert.equal(code, 64, args.join(" "));
      assert.match(stderr, message);
    }
    let printed = "";
    const io = {
      stdout: () => {},
      stderr: (text: string) => void (printed += text),
      stdin: async () => "",
      env: {},
      cwd: folder.path("."),
      isTerminal: false,
    };
    assert.equal(await main(["test", "--nonsense"], io), 64);
    assert.match(printed, /Unknown option '--nonsense'/);
  },
);

verifies("tests.run", "--run selects cases by their names, rows included", async (t) => {
  const folder = testFolder(t, {
    "gateway.config.yaml": CONFIG,
    "a.test.yaml": `tests:
  - { name: rows, each: [{ n: 1 }, { n: 2 }], call: { endpoint: triage, message: "{{n}}" } }
  - { name: other, call: { endpoint: triage, message: hi }, expect: { status: 500 } }
`,
  });
  const names = async (pattern: string) =>
    reportOf(await folder.run(["--run", pattern, "--output", "json"])).cases.map(({ name }) => name);
  assert.deepEqual(await names("rows"), ["rows [1]", "rows [2]"]);
  assert.deepEqual(await names("^o|2"), ["rows [2]", "other"]);
  const { code, stderr } = await folder.run(["--run", "nothing"]);
  assert.deepEqual([code, stderr], [1, "sluice test: --run selects no case\n"]);
});

verifies(
  "tests.watch",
  "a change, a new test file and a removed one end the wait, and nothing else does",
  async (t) => {
    const folder = testFolder(t, { "gateway.config.yaml": CONFIG, "a.test.yaml": PASSES });
    const files = ["gateway.config.yaml", "a.test.yaml"].map((name) => folder.path(name));
    const changes: (() => void)[] = [
      () => folder.write({ "a.test.yaml": FAILS }),
      () => folder.write({ "gateway.config.yaml": `${CONFIG}# changed\n` }),
      () => files.push(folder.path("b.test.yaml")),
    ];
    for (const change of changes) {
      let isOver = false;
      const known = [...files];
      const waiting = untilChanged(known, () => [...files]).then(() => (isOver = true));
      for (let n = 0; n < 20; n++) await turn();
      assert.ok(!isOver);
      change();
      await waiting;
    }
  },
);

verifies("tests.watch", "--watch runs the cases again after a change, and does not end", async (t) => {
  const folder = testFolder(t, { "gateway.config.yaml": CONFIG, "a.test.yaml": PASSES });
  let printed = "";
  const stop = new Error("stopped by the test");
  const io = {
    stdout(text: string) {
      printed += text;
      // The second wait is the end of the test.
      if ((printed.match(/waiting for changes/g) ?? []).length === 2) throw stop;
      if (text.includes("waiting for changes")) setImmediate(() => folder.write({ "a.test.yaml": FAILS }));
    },
    stderr: () => {},
    stdin: async () => "",
    env: {},
    cwd: folder.path("."),
    isTerminal: false,
  };
  await assert.rejects(command.run(["--watch"], io), stop);
  assert.match(printed, /1 passed, 0 failed\n[\s\S]*0 passed, 1 failed\n/);
});

const CANARY = "canary-7f3a91c2e5";

verifies(
  ["tests.secrets", "tests.offline"],
  "secrets of the environment, of files and of the configuration appear in no output, whatever fails",
  async (t) => {
    const folder = testFolder(t, {
      "secret.txt": `${CANARY}-file\n`,
      "gateway.config.yaml": CONFIG.replace('"${env:ANTHROPIC_API_KEY}"', `"${CANARY}-written"`).replace(
        "/run/secrets/none",
        "./secret.txt",
      ),
      "proxy/gateway.config.yaml": PROXY.replace("acme-tenant", `${CANARY}-header`).replace(
        '"${env:CRM_KEY}"',
        '"${file:../secret.txt}"',
      ),
      "a.test.yaml": `tests:
  - { name: a, call: { endpoint: extract, message: hi, order: 5 }, expect: { sent: { body: { none: true } }, body: { none: true } } }
  - { name: b, call: { endpoint: summarise, message: hi }, provider: [{ status: 503 }, { status: 401, body: { error: "bad key" } }], expect: { status: 200 } }
`,
      "proxy/b.test.yaml": `tests:
  - { name: c, call: { proxy: crm }, expect: { sent: { headers: { x-tenant: nothing, x-api-key: nothing, none: true } } } }
`,
    });
    const env = { OPENAI_API_KEY: `${CANARY}-env`, CRM_KEY: `${CANARY}-env` };
    for (const output of ["text", "json", "junit", "tap", "github"])
      for (const root of [[], ["--root", "."]]) {
        const args = [
          "a.test.yaml",
          "proxy/b.test.yaml",
          ...root,
          "--coverage",
          "--mutate",
          "--output",
          output,
        ];
        const { code, stdout, stderr } = await folder.run(args, { env });
        assert.ok(code === 3 || code === 1, stdout);
        assert.ok(!`${stdout}${stderr}`.includes(CANARY), `${args.join(" ")}\n${stdout}${stderr}`);
      }
    assert.equal((await folder.run(["--init"], { env })).code, 0);
    assert.ok(!folder.read("gateway.test.yaml").includes(CANARY));
  },
);

verifies(
  "tests.offline",
  "a variable has the value that `env` gives it, and no other of the machine is seen",
  async (t) => {
    const folder = testFolder(t, {
      "gateway.config.yaml": CONFIG.replace(
        "prompt: You summarise texts.",
        'prompt: "Region ${env:REGION:-none}, ${env:HOME:-homeless}"',
      ),
      "a.test.yaml": `env: { REGION: eu }
tests:
  - { name: a, call: { endpoint: summarise, message: hi }, expect: { sent: { messages: [{ content: "Region eu, homeless" }, { content: hi }] } } }
---
tests:
  - { name: b, call: { endpoint: summarise, message: hi }, expect: { sent: { messages: [{ content: "Region none, homeless" }, { content: hi }] } } }
`,
    });
    const { code, stdout } = await folder.run([], { env: { REGION: "us", HOME: "/root" } });
    assert.equal(code, 0, stdout);
  },
);

test("the help names every option, exit code and example", async () => {
  for (const word of [
    "--run",
    "--output",
    "--coverage",
    "--coverage-threshold",
    "--mutate",
    "--update",
    "--watch",
    "--init",
    "--overlay",
    "--root",
    "Exit status",
    "Examples",
  ])
    assert.ok(command.help.includes(word), word);
  for (const line of command.help.split("\n")) assert.ok(line.length <= 120, line);
});
