/**
 * The configuration that an import makes, before it is written: converters fill it, and it takes care of names, of
 * references to secrets, and of where the comments of the source belong. It never holds a secret.
 */
import type { Findings } from "./findings.ts";
import { cleanUrl, envReference, referenceIn, type Secrets, secretValue } from "./secrets.ts";
import type { Source, SourceComment, SourceNode } from "./source.ts";
import type { Upstream } from "./upstreams.ts";

/** Comments for one object, in the order of the source. */
export type Notes = string[];

export interface DraftCredential {
  readonly name: string;
  readonly provider: string;
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
  readonly options: Readonly<Record<string, unknown>>;
  readonly notes: Notes;
}

export interface DraftTarget {
  readonly credential: DraftCredential;
  readonly model: string;
}

export interface DraftAlias {
  readonly alias: string;
  readonly notes: Notes;
  /** Primary first; the rest are failover entries. */
  readonly targets: DraftTarget[];
  temperature?: number;
  topP?: number;
  maxOutputTokens?: number;
  ratePerMinute?: number;
  guardrails: readonly DraftGuardrail[];
}

export interface DraftGuardrail {
  readonly settings: Readonly<Record<string, unknown>>;
  /** Written above its first use. */
  readonly notes: Notes;
}

export interface DraftToken {
  readonly id: string;
  readonly notes: Notes;
  capUsd?: number;
  isActive?: boolean;
  expiresAt?: string;
}

export interface DraftPrice {
  readonly provider: string;
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
}

export interface DraftMcpServer {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly notes: Notes;
}

export interface DraftProxyEndpoint {
  readonly slug: string;
  readonly upstreamUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly notes: Notes;
}

/** A model name of the source without an alias. */
export interface LeftOut {
  readonly model: string;
  readonly reason: string;
  readonly notes: Notes;
}

/** An object of the configuration, and the lines of the source that it comes from. */
interface Anchor {
  readonly first: number;
  readonly last: number;
  readonly notes: Notes;
}

type Settings = Record<string, unknown>;

/** Of a failover list; the configuration's schema has the same. */
export const TARGETS_MAX = 17;
export const KEYWORD_CHARACTERS_MAX = 200;
const TIMEOUT_MS_MAX = 3_600_000;
/** Of names that imports make. */
const SLUG_CHARACTERS_MAX = 60;

export const HEADER_NAME = /^[A-Za-z][A-Za-z0-9-]{0,99}$/;

export class Draft {
  readonly projectName: string;
  readonly credentials: DraftCredential[] = [];
  readonly aliases = new Map<string, DraftAlias>();
  readonly tokens: DraftToken[] = [];
  readonly prices = new Map<string, DraftPrice>();
  readonly mcpServers: DraftMcpServer[] = [];
  readonly proxyEndpoints: DraftProxyEndpoint[] = [];
  readonly leftOut: LeftOut[] = [];
  readonly server: Settings = {};
  readonly state: Settings = {};
  readonly log: Settings = {};
  readonly telemetry: Settings = {};
  readonly providers = new Map<string, Settings>();
  /** For the whole file: what precedes everything. */
  readonly header: Notes = [];
  readonly #sections = new Map<string, Notes>();
  /** Values that the tests give to variables that are parts of addresses. */
  readonly testEnv = new Map<string, string>();
  readonly #anchors: Anchor[] = [];
  readonly #variables = new Map<string, string>();
  readonly #made = new Map<string, DraftCredential>();
  readonly #secrets: Secrets;

  constructor(projectName: string, secrets: Secrets) {
    this.projectName = projectName;
    this.#secrets = secrets;
  }

  /** Comments in or before the node belong to the object. */
  anchor(node: SourceNode | undefined, notes: Notes): void {
    if (node !== undefined) this.#anchors.push({ first: node.line, last: node.endLine, notes });
  }

  /** Gives every comment of the source to the smallest object around it, or to the file. */
  placeComments({ comments }: Source): void {
    if (comments.length === 0) return;
    const nearest = this.#nearestByLine();
    for (const comment of comments) {
      const notes = nearest.get(comment.attachedTo) ?? this.header;
      notes.push(this.#secrets.scrubComment(commentText(comment)));
    }
    const sinks = [this.header, ...this.#anchors.map((anchor) => anchor.notes)];
    for (const notes of sinks) trimBlank(notes);
  }

  /** For each line the smallest object around it: larger ones come first and are covered by those inside them. */
  #nearestByLine(): ReadonlyMap<number, Notes> {
    const size = ({ first, last }: Anchor) => last - first;
    const lines = new Map<number, Notes>();
    for (const anchor of this.#anchors.toReversed().sort((a, b) => size(b) - size(a)))
      for (let line = anchor.first; line <= anchor.last; line++) lines.set(line, anchor.notes);
    return lines;
  }

  /** Comments for a section of the configuration, such as `server`. */
  sectionNotes(section: string): Notes {
    const known = this.#sections.get(section) ?? [];
    this.#sections.set(section, known);
    return known;
  }

  alias(name: string): DraftAlias {
    const known = this.aliases.get(name);
    if (known !== undefined) return known;
    const made: DraftAlias = { alias: name, notes: [], targets: [], guardrails: [] };
    this.aliases.set(name, made);
    return made;
  }

  /** Adds a target behind the others. False: it is one of them already, or there are too many. */
  addTarget(alias: DraftAlias, { credential, model }: DraftTarget): boolean {
    const isKnown = alias.targets.some((one) => one.credential === credential && one.model === model);
    if (isKnown || alias.targets.length >= TARGETS_MAX) return false;
    alias.targets.push({ credential, model });
    return true;
  }

  token(id: string): DraftToken {
    const known = this.tokens.find((one) => one.id === id);
    if (known !== undefined) return known;
    const made: DraftToken = { id, notes: [] };
    this.tokens.push(made);
    return made;
  }

  provider(key: string): Settings {
    const known = this.providers.get(key) ?? {};
    this.providers.set(key, known);
    return known;
  }

  /** Keeps the larger of two timeouts: one provider's setting holds for all of its models. */
  timeout(settings: Settings, key: string, seconds: number): void {
    const ms = Math.min(TIMEOUT_MS_MAX, Math.max(1, Math.round(seconds * 1000)));
    const known = settings[key];
    settings[key] = typeof known === "number" ? Math.max(known, ms) : ms;
  }

  /** The variable for a secret that stood in the file: one for each secret. */
  variableFor(literal: string, name: string): string {
    const known = this.#variables.get(literal);
    if (known !== undefined) return known;
    const taken = new Set(this.#variables.values());
    let free = name;
    for (let count = 2; taken.has(free); count++) free = `${name}_${count}`;
    this.#variables.set(literal, free);
    return free;
  }

  /** Keeps the name for what the source already reads from it. */
  reserve(name: string): void {
    if (![...this.#variables.values()].includes(name)) this.#variables.set(`\0${name}`, name);
  }

  /** A secret of the source as a reference, with the finding that goes with it. */
  secret(node: SourceNode | undefined, name: string, findings: Findings): string | undefined {
    const text = node?.text;
    if (node === undefined || text === undefined) return undefined;
    const value = secretValue(text);
    if (value.kind === "reference") {
      findings.add(node, { level: "exact", message: `Read from ${value.name}, as in the source.` });
      return envReference(value.name);
    }
    if (value.kind === "dummy") {
      findings.add(node, {
        level: "exact",
        message: "A placeholder for a server without authentication.",
      });
      return envReference(name, value.text);
    }
    const variable = this.variableFor(text, name);
    findings.add(node, {
      level: "manual",
      message: `The secret is hard-coded. Set ${variable} to it; rotate it if the file was ever shared.`,
    });
    return envReference(variable);
  }

  /** An address, as a reference where the source has one or where a part of it is a secret. */
  url(node: SourceNode, variable: string, findings: Findings): string | undefined {
    const text = node.text;
    if (text === undefined) return undefined;
    const name = referenceIn(text);
    if (name !== undefined) {
      this.testEnv.set(name, "http://127.0.0.1:9");
      return envReference(name);
    }
    const clean = cleanUrl(text, this.#secrets);
    if (clean?.removed === undefined) {
      if (clean !== undefined) return clean.url;
      this.testEnv.set(variable, "http://127.0.0.1:9");
      const message = `The address holds what looks like a secret, or is malformed. Set ${variable} to it.`;
      findings.add(node, { level: "manual", message });
      return envReference(variable);
    }
    const message = `Left out of the address, since Sluice does not send it: ${clean.removed}.`;
    findings.add(node, { level: "manual", message });
    return clean.url;
  }

  /** The credential with these properties; made once. `hints` are tried as suffixes when the plain name is taken. */
  credential(
    wanted: Omit<DraftCredential, "name" | "notes">,
    name: string,
    hints: readonly string[],
  ): DraftCredential {
    const { provider, apiKey, baseUrl, options } = wanted;
    const identity = JSON.stringify([provider, apiKey ?? null, baseUrl ?? null, options]);
    const known = this.#made.get(identity);
    if (known !== undefined) return known;
    const made = { ...wanted, name: this.#freeName(slug(name), hints.map(slug)), notes: [] };
    this.#made.set(identity, made);
    this.credentials.push(made);
    return made;
  }

  #freeName(name: string, hints: readonly string[]): string {
    const taken = new Set(this.credentials.map((one) => one.name));
    const candidates = [name, ...hints.filter((hint) => hint !== "").map((hint) => `${name}-${hint}`)];
    const free = candidates.find((candidate) => !taken.has(candidate));
    if (free !== undefined) return free;
    let count = 2;
    while (taken.has(`${name}-${count}`)) count += 1;
    return `${name}-${count}`;
  }
}

/** The variable that an upstream's key is read from, when the source does not say. */
export function variableOf(upstream: Pick<Upstream, "env" | "name">): string {
  return upstream.env === "" ? `${upstream.name.toUpperCase().replace(/\W+/g, "_")}_API_KEY` : upstream.env;
}

export function slug(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, SLUG_CHARACTERS_MAX)
    .replace(/-$/, "");
}

/** The first part of an address that tells servers of one kind apart. */
export function hostHint(baseUrl: string | undefined): string {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return "";
  const { hostname, port } = new URL(baseUrl);
  const first = /^[\d.]+$|^\[/.test(hostname) ? hostname : (hostname.split(".")[0] ?? "");
  return slug(first === "localhost" || first === "127.0.0.1" ? `local-${port}` : first);
}

/** What a variable's name says beyond the provider: `AZURE_API_KEY_EU` and `azure`: `eu`. */
export function variableHint(reference: string | undefined, name: string): string {
  const variable = /^\$\{env:(\w+)/.exec(reference ?? "")?.[1] ?? "";
  const rest = variable
    .toLowerCase()
    .split("_")
    .filter((word) => !["api", "key", "token", "openai", ...name.split("-")].includes(word));
  return rest.join("-");
}

function commentText({ key, text }: SourceComment): string {
  return key === undefined || text === "" ? text : `${key}: ${text}`;
}

function trimBlank(notes: Notes): void {
  while (notes[0] === "") notes.shift();
  while (notes.at(-1) === "") notes.pop();
}
