/** No secret of the environment, of mounted files or of the configuration itself is printed by plan and render. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import type { TestContext } from "node:test";
import type { Command } from "../../src/cli/command.ts";
import { renderCommand } from "../../src/cli/render.ts";
import { verifies } from "../spec/verifies.ts";
import {
  configOf,
  emptyFolder,
  loadPlugins,
  plan,
  type Repository,
  repositoryOf,
  run,
  textOf,
} from "./plan-kit.ts";

/** In every secret, in a form that survives slugs and lower case. */
const CANARY = "zq7xk9canary";
const secret = (name: string): string => `${CANARY}-${name}`;

const VARIABLES = [
  "KEY",
  "DEFAULTED",
  "TONE",
  "LIMIT",
  "USER",
  "PROXY_USER",
  "HEADER",
  "HOOK",
  "URL",
  "NEXT",
];
const ENV = Object.fromEntries(VARIABLES.map((name) => [name, secret(name.toLowerCase())]));

/** `n`: what differs between the two sides, secrets that are written out included. */
function files(mounted: string, n: 1 | 2): Readonly<Record<string, string>> {
  const body = `    credentials:
      - { name: main, provider: openai, api_key: "\${env:${n === 1 ? "KEY" : "NEXT"}}" }
      - { name: file, provider: openai, api_key: "\${file:${mounted}/key}" }
      - { name: near, provider: openai, api_key: "\${file:./key-${n}}" }
      - { name: written, provider: openai, api_key: ${secret(`written-${n}`)} }
      - { name: defaulted, provider: openai, api_key: "\${env:DEFAULTED:-${secret(`default-${n}`)}}" }
    endpoints:
      - name: A
        provider: openai
        model: gpt-5-mini
        credential: main
        prompt: "\${file:./prompt.md} Be \${env:TONE} in ${n}."
        rate_limit_per_minute: \${env:LIMIT}
        temperature: 0.${n}
    proxy_endpoints:
      - { slug: crm, upstream_url: "https://crm.example/v${n}" }
    mcp_servers:
      - name: docs
        url: https://docs${n}.example/mcp
        headers: { Authorization: "Bearer \${env:HEADER}", X-Key: ${secret(`header-${n}`)}, X-Both: "a${secret("both")}\${env:HEADER}${n}" }
    webhooks:
      - { name: w, url: "\${env:URL}", events: [token.revoked], secret: "\${env:HOOK}" }
      - { name: v, url: "https://\${env:USER}:x${secret(`at-${n}`)}@w${n}.example/", events: [token.revoked], secret: [${secret(`hook-${n}`)}] }
`;
  const head = `providers:
  openai: { proxy: "http://\${env:PROXY_USER}:${secret(`proxy-${n}`)}@proxy${n}.example:3128" }
telemetry: { otlp: { endpoint: "http://127.0.0.1:4318", headers: { X-Team: ${secret(`otlp-${n}`)} } } }
log: { level: ${n === 1 ? "info" : "debug"} } # sluice: accept P401 until 2030-01-01: more is seen
`;
  return {
    "gateway.config.yaml": configOf(body, head),
    "prompt.md": `Prompt ${n}, which everybody may see and which is long enough to be compared word by word.\n`,
    [`key-${n}`]: secret(`near-${n}`),
  };
}

function changedRepository(t: TestContext): Repository {
  const mounted = emptyFolder(t);
  mkdirSync(mounted, { recursive: true });
  writeFileSync(`${mounted}/key`, secret("mounted"));
  const repository = repositoryOf(t, files(mounted, 1));
  repository.write(files(mounted, 2));
  return repository;
}

async function printed(command: Command, args: readonly string[], { top }: Repository): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: "/nonexistent", ...ENV };
  const { code, stdout, stderr } = await run(command, args, {
    cwd: top,
    env,
    isTerminal: true,
    isErrorTerminal: true,
  });
  assert.equal(code, 0, stdout + stderr);
  return stdout + stderr;
}

verifies(
  "review.secrets",
  "plan prints no secret, in any format, and secrets that differ are a change",
  async (t) => {
    const repository = changedRepository(t);
    for (const output of ["text", "json", "markdown", "github"]) {
      const text = await printed(plan, ["--output", output, "--all", "--save", "plan.json"], repository);
      assert.ok(!text.toLowerCase().includes(CANARY), `${output}: ${text}`);
      for (const name of ["written", "docs", "crm", "main", "near"])
        assert.ok(text.includes(name), `${output}: ${name} has changed`);
    }
    assert.ok(!textOf(repository.path("plan.json")).toLowerCase().includes(CANARY));
  },
);

verifies("review.secrets", "render prints no secret, in any format", async (t) => {
  const repository = changedRepository(t);
  for (const output of ["yaml", "json"])
    for (const more of [[], ["--provenance"]]) {
      const text = await printed(renderCommand(loadPlugins), ["--output", output, ...more], repository);
      assert.ok(!text.toLowerCase().includes(CANARY), `${output} ${more}: ${text}`);
      assert.ok(text.includes("${env:NEXT}"), "references are as they are written");
      assert.match(text, /fingerprint:[0-9a-f]+/);
    }
});

verifies("review.secrets", "diagnostics of an invalid side show no secret", async (t) => {
  const repository = changedRepository(t);
  const broken = textOf(repository.path("gateway.config.yaml"))
    .replace("temperature: 0.2", "temperature: 9")
    .replace("events: [token.revoked], secret: [", "events: [nothing], secret: [");
  repository.write({ "gateway.config.yaml": broken });
  const env = { PATH: process.env["PATH"], HOME: "/nonexistent", ...ENV };
  for (const output of ["text", "json", "markdown", "github"]) {
    const { code, stdout, stderr } = await run(plan, ["--output", output], { cwd: repository.top, env });
    assert.equal(code, 1);
    assert.ok(!(stdout + stderr).toLowerCase().includes(CANARY), stdout + stderr);
  }
  const { stderr } = await run(renderCommand(loadPlugins), [], { cwd: repository.top, env });
  assert.ok(stderr.includes("error[") && !stderr.toLowerCase().includes(CANARY));
});
