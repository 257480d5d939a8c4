/** Portkey's gateway configs: each becomes an alias with its targets in order, or one alias for each model that it lets through. */
import { type DraftAlias, type DraftTarget, slug } from "./draft.ts";
import { type Job, knownModels } from "./job.ts";
import { portkeyGuardrails } from "./portkey-guardrails.ts";
import { type Leaf, leafTarget, leavesOf } from "./portkey-targets.ts";
import type { SourceNode } from "./source.ts";

/** In the spelling of the mapping: snake case, and the same for the config and its targets. */
export function portkeyPattern({ pattern }: SourceNode): string {
  let rest = pattern.replace(/(?<=[a-z0-9])([A-Z])/g, (letter) => `_${letter.toLowerCase()}`);
  for (;;) {
    const prefix = PREFIXES.find((one) => rest.startsWith(one) && rest !== "config");
    if (prefix === undefined) return rest;
    rest = rest.slice(prefix.length);
  }
}

/** Lists of configs, what wraps one, and targets. */
const PREFIXES = [
  "[].",
  "[]",
  "data[].",
  "data[]",
  "data.",
  "configs[].",
  "configs[]",
  "configs.",
  "config.",
  "targets[].",
  "targets[]",
];

interface NamedConfig {
  readonly node: SourceNode;
  readonly name: string;
  /** Where the name is defined; undefined: it is the file's name. */
  readonly named: SourceNode | undefined;
}

export function convertPortkey(job: Job, fileName: string): void {
  const configs = configsIn(job.root, slug(fileName.replace(/\.[a-z0-9]+$/i, "")) || "default");
  for (const config of configs) convertConfig(job, config, configs.length > 1);
  job.draft.token("clients");
}

/** One config, an export of one, or a list of them. */
function configsIn(root: SourceNode, fallback: string): readonly NamedConfig[] {
  const list = root.isList ? root : root.get("configs", "data");
  const entries = list?.isList ? list.items : [list?.isMap ? list : root];
  return entries.map((entry, index) => {
    const node = entry.get("config") ?? entry;
    const named = entry.get("slug") ?? entry.get("name") ?? entry.get("id");
    const usual = entries.length > 1 ? `${fallback}-${index + 1}` : fallback;
    const isTop = node === entry && (node.get("targets") !== undefined || node.get("provider") !== undefined);
    const name = isTop && entries.length === 1 ? usual : slug(named?.text ?? "") || usual;
    return { node: node.isMap ? node : entry, name, named: name === usual ? undefined : named };
  });
}

function convertConfig(job: Job, config: NamedConfig, isOneOfSeveral: boolean): void {
  const { findings } = job;
  const { node, name } = config;
  const mode = strategyOf(job, node, name);
  const leaves = leavesOf(job, node);
  const targets = leaves.map((leaf) => ({ leaf, ...leafTarget(job, leaf) }));
  const guardrails = portkeyGuardrails(job, [node, ...leaves.map(({ own }) => own)]);
  if (mode === "conditional") conditional(job, config, targets);
  else {
    const [first] = targets;
    if (first !== undefined && first.credential !== undefined && first.model === undefined) {
      byModel(job, targets, isOneOfSeveral ? name : undefined);
    } else {
      inOrder(job, job.draft.alias(name), targets);
    }
  }
  for (const alias of job.draft.aliases.values()) {
    const isOurs =
      alias.alias === name || alias.alias.startsWith(`${name}-`) || mode === "" || !isOneOfSeveral;
    if (isOurs && alias.guardrails.length === 0) alias.guardrails = guardrails;
  }
  if (config.named !== undefined) findings.note(config.named);
  retries(job, [node, ...leaves.map(({ own }) => own)], targets.length);
  if (job.draft.aliases.get(name)?.targets.length === 0) {
    job.draft.aliases.delete(name);
    job.draft.leftOut.push({ model: name, reason: "none of its targets could be imported", notes: [] });
  }
}

interface Found {
  readonly leaf: Leaf;
  readonly credential: DraftTarget["credential"] | undefined;
  readonly model: string | undefined;
  readonly upstreamName: string;
}

function strategyOf({ findings }: Job, node: SourceNode, name: string): string {
  const strategy = node.get("strategy");
  const mode = strategy?.get("mode") ?? (strategy?.text === undefined ? undefined : strategy);
  const text = mode?.text ?? "";
  const messages: Readonly<Record<string, Parameters<typeof findings.add>[1]>> = {
    single: { level: "exact", message: `Clients name the model \`${name}\`.` },
    fallback: {
      level: "exact",
      message: `Targets are asked in order. Clients name the model \`${name}\` instead of sending the config.`,
    },
    loadbalance: {
      level: "approximate",
      message: `The heaviest target is asked first, the others when it fails; calls are not spread. Clients name the model \`${name}\`.`,
    },
    conditional: {
      level: "manual",
      message:
        "Sluice does not choose targets by the request: each target has an alias of its own, and clients name it.",
    },
  };
  const verdict = Object.hasOwn(messages, text) ? messages[text] : undefined;
  if (mode !== undefined) {
    findings.add(mode, verdict ?? { level: "no effect", message: "Not a mode that Portkey knows." });
  }
  return text;
}

function inOrder(job: Job, alias: DraftAlias, targets: readonly Found[]): void {
  const { draft, findings } = job;
  for (const { leaf, credential, model } of targets) {
    if (credential === undefined) continue;
    if (model === undefined) {
      const message =
        "No model is given for it, and the others name theirs: add it with a model, as a failover entry.";
      findings.add(leaf.own.get("provider", "virtual_key", "virtualKey") ?? leaf.own, {
        level: "manual",
        message,
      });
    } else if (!draft.addTarget(alias, { credential, model })) {
      findings.add(leaf.own.get("weight"), {
        level: "unsupported",
        message: "The same target as another one.",
      });
    }
  }
  settings(job, alias, targets);
}

/** The config leaves the model to clients: an alias for each model that is known. */
function byModel(job: Job, targets: readonly Found[], prefix: string | undefined): void {
  const { draft, findings } = job;
  const [first] = targets;
  if (first === undefined) return;
  const models = first.leaf.upstream === undefined ? [] : knownModels(first.leaf.upstream);
  const node = first.leaf.own.get("provider", "virtual_key", "virtualKey") ?? first.leaf.own;
  const names: string[] = [];
  for (const model of models) {
    const alias = draft.alias(
      prefix === undefined && !draft.aliases.has(model) ? model : `${prefix ?? "config"}/${model}`,
    );
    names.push(alias.alias);
    for (const { credential, model: given, upstreamName } of targets) {
      const wanted = given ?? (upstreamName === first.upstreamName ? model : undefined);
      if (credential !== undefined && wanted !== undefined)
        draft.addTarget(alias, { credential, model: wanted });
    }
    settings(job, alias, targets);
  }
  const message =
    models.length === 0
      ? "The config leaves the model to clients: add an alias for each model that they name."
      : `The config leaves the model to clients: ${names.length} aliases for the models of ${first.leaf.upstream?.label ?? ""} that Sluice knows. Remove unused ones.`;
  findings.add(node, { level: "manual", message });
  if (models.length === 0) {
    draft.leftOut.push({ model: prefix ?? "*", reason: "the config leaves the model to clients", notes: [] });
  }
}

function conditional(job: Job, { node, name }: NamedConfig, targets: readonly Found[]): void {
  const { draft, findings } = job;
  const strategy = node.get("strategy");
  const usual = strategy?.get("default");
  for (const condition of strategy?.get("conditions")?.items ?? []) findings.note(condition);
  let isFound = false;
  for (const found of targets) {
    const own = slug(found.leaf.name ?? "");
    if (found.leaf.name !== undefined && found.leaf.name === usual?.text) {
      inOrder(job, draft.alias(name), [found]);
      isFound = true;
    }
    if (own !== "") {
      const alias = draft.alias(`${name}-${own}`);
      inOrder(job, alias, [found]);
      findings.add(found.leaf.own.get("name"), { level: "exact", message: `Alias \`${alias.alias}\`.` });
      if (alias.targets.length === 0) draft.aliases.delete(alias.alias);
    }
  }
  if (usual === undefined) return;
  if (isFound) findings.note(usual);
  else findings.add(usual, { level: "no effect", target: null, message: "No target has this name." });
}

/** Those of the first target that has them: in Sluice settings belong to the alias. */
function settings({ findings }: Job, alias: DraftAlias, targets: readonly Found[]): void {
  const keys = [
    { names: ["temperature"], min: 0, max: 2, set: (value: number) => void (alias.temperature ??= value) },
    { names: ["top_p"], min: 0, max: 1, set: (value: number) => void (alias.topP ??= value) },
    {
      names: ["max_tokens", "max_completion_tokens"],
      min: 1,
      max: 200_000,
      set: (value: number) => void (alias.maxOutputTokens ??= value),
    },
  ];
  for (const { names, min, max, set } of keys) {
    for (const [index, { leaf }] of targets.entries()) {
      const node = leaf.param(...names);
      const value = node?.number;
      if (node === undefined || value === undefined || value < min || value > max) continue;
      if (index === 0) {
        set(value);
        findings.note(node);
      } else if (!findings.has(node)) {
        findings.add(node, {
          level: "unsupported",
          target: null,
          message: "Settings are those of the first target.",
        });
      }
    }
  }
}

function retries({ findings }: Job, nodes: readonly SourceNode[], targets: number): void {
  for (const retry of nodes.map((node) => node.get("retry"))) {
    const attempts = retry?.get("attempts");
    const isOff = attempts?.isOff === true;
    for (const child of retry?.children ?? []) {
      if (isOff)
        findings.add(child, {
          level: "exact",
          target: null,
          message: "Sluice does not repeat calls either.",
        });
      else findings.note(child, targets > 1 ? "approximate" : "unsupported");
    }
  }
}
