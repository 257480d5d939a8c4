/** Overrides over configurations: every order in which git and the control plane may change the same thing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EndpointConfig, ProjectConfig, ResolvedConfig, TokenConfig } from "../../src/config/model.ts";
import { type Author, type OverrideEdit, overrideEdits } from "../../src/config/override-edits.ts";
import { applyOverrides } from "../../src/config/overrides.ts";
import type { Override } from "../../src/plugin/store.ts";

const P = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f701";
const BY: Author = { actor: "platform", atMs: 1_000 };
const A = `sha256:${"a".repeat(64)}`;
const B = `sha256:${"b".repeat(64)}`;
const C = `sha256:${"c".repeat(64)}`;

function token(id: string, hash: string, fields: Partial<TokenConfig> = {}): TokenConfig {
  const entry = { id, name: `token ${id}`, hash, scopes: ["chat" as const], is_active: true };
  return { ...entry, monthly_budget_usd_cap: null, expires_at: null, ...fields };
}

function git(
  tokens: readonly TokenConfig[],
  endpoints: Readonly<Record<string, boolean>> = {},
): ResolvedConfig {
  const entries = Object.entries(endpoints).map(([slug, is_active]) => ({ slug, is_active }));
  // What overrides look at, and no more.
  const project = { uuid: P, tokens, endpoints: entries as unknown as EndpointConfig[], proxy_endpoints: [] };
  return { projects: [project as unknown as ProjectConfig] } as unknown as ResolvedConfig;
}

/** A store of overrides, as the gateway keeps one: stale ones go. */
class Kept {
  overrides: readonly Override[] = [];

  do({ put, drop }: OverrideEdit): void {
    for (const one of put) this.overrides = [...this.overrides.filter(({ key }) => key !== one.key), one];
    this.overrides = this.overrides.filter(({ key }) => !drop.includes(key));
  }

  /** The tokens and endpoints that run on this configuration. */
  run(config: ResolvedConfig): { tokens: Record<string, string>; endpoints: Record<string, boolean> } {
    const { config: running, stale } = applyOverrides(config, this.overrides);
    this.do({ put: [], drop: stale });
    const [project] = running.projects;
    const tokens = (project?.tokens ?? []).map(({ id, hash, is_active }) => [
      id,
      is_active ? hash : "revoked",
    ]);
    const endpoints = (project?.endpoints ?? []).map(({ slug, is_active }) => [slug, is_active]);
    return { tokens: Object.fromEntries(tokens), endpoints: Object.fromEntries(endpoints) };
  }

  rotate(config: ResolvedConfig, id: string, hash: string): void {
    this.do(
      overrideEdits.rotateToken(
        { git: config, overrides: this.overrides },
        P,
        { token: this.token(config, id), hash },
        BY,
      ),
    );
  }

  revoke(config: ResolvedConfig, id: string): void {
    this.do(
      overrideEdits.revokeToken({ git: config, overrides: this.overrides }, P, this.token(config, id), BY),
    );
  }

  switch(config: ResolvedConfig, slug: string, isActive: boolean): void {
    this.do(
      overrideEdits.setEndpointActive({ git: config, overrides: this.overrides }, P, { slug, isActive }, BY),
    );
  }

  token(config: ResolvedConfig, id: string): TokenConfig {
    const running = overrideEdits.running({ git: config, overrides: this.overrides });
    const found = running.projects[0]?.tokens.find((one) => one.id === id);
    assert.ok(found);
    return found;
  }

  keys(): string[] {
    return this.overrides.map(({ key }) => key.replace(P, "P")).sort();
  }
}

test("without overrides, and with ones that change nothing, the configuration is the very same object", () => {
  const config = git([token("7", A)], { ask: true });
  assert.equal(applyOverrides(config, []).config, config);
  const kept = new Kept();
  kept.do({
    put: [{ key: `revoked:${P}/8`, value: { hashes: [B] }, replaced: null, ...BY, setAtMs: 1 }],
    drop: [],
  });
  assert.equal(applyOverrides(config, kept.overrides).config, config);
});

test("an override leaves alone what it does not touch", () => {
  const config = git([token("7", A)], { ask: true, tell: true });
  const kept = new Kept();
  kept.switch(config, "ask", false);
  const { config: running } = applyOverrides(config, kept.overrides);
  assert.equal(running.projects[0]?.tokens, config.projects[0]?.tokens);
  assert.equal(running.projects[0]?.endpoints[1], config.projects[0]?.endpoints[1]);
  assert.equal(running.projects[0]?.endpoints[0]?.is_active, false);
});

test("a created token is there until git has it too, by its id or by its hash", () => {
  const kept = new Kept();
  kept.do(overrideEdits.createToken(P, token("n1", A, { scopes: ["mcp", "chat"], expires_at: 5 }), BY));
  const [, made] = applyOverrides(git([token("7", B)]), kept.overrides).config.projects[0]?.tokens ?? [];
  assert.deepEqual(made, token("n1", A, { scopes: ["mcp", "chat"], expires_at: 5 }));
  assert.deepEqual(kept.run(git([token("7", B)])).tokens, { "7": B, n1: A });
  assert.deepEqual(kept.run(git([token("9", A)])).tokens, { "9": A });
  assert.deepEqual(kept.keys(), []);
  kept.do(overrideEdits.createToken(P, token("n1", A), BY));
  assert.deepEqual(kept.run(git([token("n1", C)])).tokens, { n1: C });
  assert.deepEqual(kept.keys(), []);
});

test("a cap of a created token survives the store to the nano-dollar", () => {
  const kept = new Kept();
  const monthly_budget_usd_cap = { nanoUsd: 1_500_000_000, text: "1.50" };
  kept.do(overrideEdits.createToken(P, token("n1", A, { monthly_budget_usd_cap }), BY));
  // What a store on disk or in Redis makes of it.
  const stored: Override[] = JSON.parse(JSON.stringify(kept.overrides));
  assert.deepEqual(
    applyOverrides(git([]), stored).config.projects[0]?.tokens[0]?.monthly_budget_usd_cap,
    monthly_budget_usd_cap,
  );
});

test("a rotated token has its new hash, whatever else git changes of it", () => {
  const kept = new Kept();
  kept.rotate(git([token("7", A)]), "7", B);
  assert.deepEqual(kept.run(git([token("7", A)])).tokens, { "7": B });
  assert.deepEqual(kept.run(git([token("7", A, { name: "renamed", scopes: [] })])).tokens, { "7": B });
  assert.deepEqual(kept.run(git([token("7", A, { is_active: false })])).tokens, { "7": "revoked" });
});

test("git wins over a rotation when it changes the hash; the one before the rotation never comes back", () => {
  const kept = new Kept();
  kept.rotate(git([token("7", A)]), "7", B);
  assert.deepEqual(kept.run(git([token("7", C)])).tokens, { "7": C });
  assert.deepEqual(kept.keys(), ["revoked:P/7"]);
  assert.deepEqual(kept.run(git([token("7", A)])).tokens, { "7": "revoked" });
  assert.deepEqual(kept.run(git([])).tokens, {});
});

test("a token rotated twice works by its last hash alone, created ones too", () => {
  const kept = new Kept();
  const config = git([token("7", A)]);
  kept.rotate(config, "7", B);
  kept.rotate(config, "7", C);
  assert.deepEqual(kept.run(config).tokens, { "7": C });
  assert.deepEqual(kept.run(git([token("7", B)])).tokens, { "7": "revoked" });

  const made = new Kept();
  made.do(overrideEdits.createToken(P, token("n1", A), BY));
  made.rotate(git([]), "n1", B);
  assert.deepEqual(made.run(git([])).tokens, { n1: B });
  assert.deepEqual(made.run(git([token("x", A)])).tokens, { x: "revoked", n1: B });
});

test("a revoked token stays revoked through removal, revert, a change of its fields and another id", () => {
  const kept = new Kept();
  const config = git([token("7", A)]);
  kept.revoke(config, "7");
  for (const next of [
    config,
    git([]),
    config,
    git([token("7", A, { name: "x" })]),
    git([token("7", A, { is_active: false })]),
    config,
  ]) {
    assert.notEqual(kept.run(next).tokens["7"], A);
  }
  assert.deepEqual(kept.run(git([token("8", A)])).tokens, { "8": "revoked" });
  assert.deepEqual(kept.run(git([token("7", B)])).tokens, { "7": B }, "a new hash is a new token");
  assert.deepEqual(kept.run(config).tokens, { "7": "revoked" });
});

test("revoking a rotated or a created token kills both what is and what was", () => {
  const kept = new Kept();
  const config = git([token("7", A)]);
  kept.rotate(config, "7", B);
  kept.revoke(config, "7");
  assert.deepEqual(kept.run(config).tokens, { "7": "revoked" });
  assert.deepEqual(kept.run(git([token("7", B)])).tokens, { "7": "revoked" });
  assert.deepEqual(kept.run(config).tokens, { "7": "revoked" });

  const made = new Kept();
  made.do(overrideEdits.createToken(P, token("n1", A), BY));
  made.revoke(git([]), "n1");
  assert.deepEqual(made.run(git([])).tokens, { n1: "revoked" });
  assert.deepEqual(made.run(git([token("n1", A)])).tokens, { n1: "revoked" }, "adopted in git too late");
});

test("revoking again asks nothing of the store", () => {
  const kept = new Kept();
  const config = git([token("7", A)]);
  kept.revoke(config, "7");
  const again = overrideEdits.revokeToken(
    { git: config, overrides: kept.overrides },
    P,
    kept.token(config, "7"),
    BY,
  );
  assert.deepEqual(again, { put: [], drop: [] });
});

test("a thousand rotations keep the newest hashes, and git's, revoked", () => {
  const kept = new Kept();
  const config = git([token("7", A)]);
  for (let n = 0; n < 1000; n++) kept.rotate(config, "7", `sha256:${n.toString(16).padStart(64, "0")}`);
  const revoked = kept.overrides.find(({ key }) => key.startsWith("revoked:"));
  assert.ok(JSON.stringify(revoked).length < 65_536, "within what a store takes");
  const last = `sha256:${(998).toString(16).padStart(64, "0")}`;
  assert.deepEqual(kept.run(git([token("7", C), token("8", A), token("9", last)])).tokens, {
    "7": C,
    "8": "revoked",
    "9": "revoked",
  });
});

test("an endpoint's override holds until git changes the endpoint's is_active", () => {
  const kept = new Kept();
  kept.switch(git([], { ask: true }), "ask", false);
  assert.deepEqual(kept.run(git([], { ask: true })).endpoints, { ask: false });
  assert.deepEqual(kept.run(git([], { ask: false })).endpoints, { ask: false });
  assert.deepEqual(kept.keys(), [], "git says it itself now");
  assert.deepEqual(kept.run(git([], { ask: true })).endpoints, { ask: true });
  kept.switch(git([], { ask: true }), "ask", false);
  assert.deepEqual(kept.run(git([], { other: true })).endpoints, { other: true });
  assert.deepEqual(
    kept.run(git([], { ask: true })).endpoints,
    { ask: true },
    "one that was gone begins anew",
  );
});

test("setting an endpoint to what git says takes the override away, and nothing when there is none", () => {
  const kept = new Kept();
  const config = git([], { ask: true });
  kept.switch(config, "ask", false);
  kept.switch(config, "ask", false);
  assert.deepEqual(kept.keys(), ["endpoint:P/ask"]);
  kept.switch(config, "ask", true);
  assert.deepEqual(kept.keys(), []);
  const again = overrideEdits.setEndpointActive(
    { git: config, overrides: [] },
    P,
    { slug: "ask", isActive: true },
    BY,
  );
  assert.deepEqual(again, { put: [], drop: [] });
});

test("what a newer version may have stored is left alone", () => {
  const config = git([token("7", A)], { ask: true });
  const one = (key: string, value: Override["value"], replaced: Override["replaced"] = null): Override => ({
    ...{ key, value, replaced, actor: "x", setAtMs: 1 },
  });
  const strange = [
    one("colour:somewhere/else", "blue"),
    one("nonsense", 5),
    one(`token:${P}/x`, { name: "half" }),
    one(`token:${P}/7`, { hash: 5 }, { hash: A }),
    one(`revoked:${P}/7`, { hashes: "all" }),
    one(`endpoint:${P}/ask`, { is_active: "maybe" }, { is_active: true }),
    one("token:11111111-1111-4111-8111-111111111111/1", { name: "elsewhere" }),
  ];
  assert.deepEqual(applyOverrides(config, strange), { config, stale: [] });
});

type Step =
  | { readonly do: "git"; readonly hash: string | null; readonly isActive: boolean; readonly isOn: boolean }
  | { readonly do: "rotate" | "revoke" }
  | { readonly do: "switch"; readonly isOn: boolean };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant("git" as const),
      hash: fc.constantFrom(A, B, C, null),
      isActive: fc.boolean(),
      isOn: fc.boolean(),
    }),
    fc.record({ do: fc.constantFrom("rotate" as const, "revoke" as const) }),
    fc.record({ do: fc.constant("switch" as const), isOn: fc.boolean() }),
  ),
  { maxLength: 30 },
);

test("in any order, what was revoked or rotated away never works, and git's last change is what runs", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const kept = new Kept();
      const dead = new Set<string>();
      let config = git([token("7", A)], { ask: true });
      let wanted: { hash: string | undefined; isOn: boolean } = { hash: A, isOn: true };
      let made = 0;
      for (const step of all) {
        const before = kept.run(config).tokens["7"];
        if (step.do === "git") {
          const { hash, isActive, isOn } = step;
          const [old] = config.projects[0]?.tokens ?? [];
          const [was] = config.projects[0]?.endpoints ?? [];
          config = git(hash === null ? [] : [token("7", hash, { is_active: isActive })], { ask: isOn });
          if (hash !== (old?.hash ?? null)) wanted = { ...wanted, hash: hash ?? undefined };
          if (isOn !== was?.is_active) wanted = { ...wanted, isOn };
        } else if (step.do === "switch") {
          kept.switch(config, "ask", step.isOn);
          wanted = { ...wanted, isOn: step.isOn };
        } else if (before !== undefined && before !== "revoked") {
          dead.add(before);
          const next = `sha256:${String(made++).padStart(64, "0")}`;
          if (step.do === "rotate") {
            kept.rotate(config, "7", next);
            wanted = { ...wanted, hash: next };
          } else kept.revoke(config, "7");
        }
        const { tokens, endpoints } = kept.run(config);
        const isAlive = config.projects[0]?.tokens[0]?.is_active === true && !dead.has(wanted.hash ?? "");
        assert.equal(tokens["7"], wanted.hash === undefined ? undefined : isAlive ? wanted.hash : "revoked");
        assert.equal(endpoints["ask"], wanted.isOn);
      }
    }),
    { numRuns: 300 },
  );
});
