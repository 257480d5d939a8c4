/** The cases that a starter file tries: a call of everything that can be called, and one for each protection. */
import type { AliasConfig, EndpointConfig, ProjectConfig, ResolvedConfig } from "../../config/model.ts";
import { isPlainMap, type PlainMap } from "../../config/read/tree.ts";
import type { Protection, Way } from "../../offline/protections.ts";
import type { ExpectedKey } from "./expectation.ts";
import { schemaSample } from "./schema-sample.ts";
import { triggersOf } from "./triggers.ts";

/** A case that may be written. */
export interface Candidate {
  readonly name: string;
  /** Without `expect`. Several: the first that shows what is wanted is taken. */
  readonly tries: readonly PlainMap[];
  /** What it must show; undefined: whatever happens is expected. */
  readonly wanted: { readonly id: string; readonly way: Way } | undefined;
  /** Keys of `expect` beside the status. */
  readonly shows: readonly ExpectedKey[];
}

/** Calls that are given before a window is full, and characters of a text over a cap: more would make slow, long cases. */
const GIVEN_CALLS_MAX = 10_000;
const CHARACTERS_MAX = 10_000;
const CHARACTERS_PER_TOKEN = 4;

type Settings = EndpointConfig | AliasConfig;

export function candidatesOf(
  config: ResolvedConfig,
  protections: readonly Protection[],
): readonly Candidate[] {
  const isOnly = config.projects.length === 1;
  return config.projects.flatMap((project) => {
    const calls = new Calls(project, isOnly);
    const own = protections.filter(({ owner }) => owner.project === project.uuid);
    return [
      ...project.endpoints
        .filter(({ is_active }) => is_active)
        .flatMap((endpoint) => calls.ofEndpoint(endpoint, own)),
      ...project.aliases.filter(({ is_active }) => is_active).flatMap((alias) => calls.ofAlias(alias, own)),
      ...project.proxy_endpoints
        .filter(({ is_active }) => is_active)
        .flatMap(({ slug }) => calls.ofProxy(slug, own)),
      ...own
        .filter(({ owner }) => owner.kind === "token")
        .flatMap((protection) => calls.tokenBudget(protection)),
    ];
  });
}

class Calls {
  readonly #project: ProjectConfig;
  readonly #about: PlainMap;
  readonly #prefix: string;

  constructor(project: ProjectConfig, isOnly: boolean) {
    this.#project = project;
    this.#about = isOnly ? {} : { project: project.name };
    this.#prefix = isOnly ? "" : `${project.name}: `;
  }

  ofEndpoint(endpoint: EndpointConfig, protections: readonly Protection[]): readonly Candidate[] {
    const { slug } = endpoint;
    const own = ownedBy(protections, "endpoint", slug);
    const base = { ...this.#about, endpoint: slug };
    const bodies = bodiesOf(endpoint);
    const tool = own.find(({ kind }) => kind === "tool");
    const asTool: Candidate[] =
      tool === undefined
        ? []
        : [
            {
              name: this.#named(`${slug} is a tool`),
              tries: bodies.map((body) =>
                withReply({ call: { ...this.#about, tool: slug, arguments: body } }, endpoint),
              ),
              wanted: { id: tool.id, way: "is called" },
              shows: ["content"],
            },
          ];
    return [
      {
        name: this.#named(`${slug} answers`),
        // A call that is refused asks no provider.
        tries: [
          ...bodies.map((body) => withReply({ call: { ...base, ...body } }, endpoint)),
          ...bodies.map((body) => ({ call: { ...base, ...body } })),
        ],
        wanted: undefined,
        shows: ["content"],
      },
      ...asTool,
      ...this.#ofProtections(
        { settings: endpoint, subject: base, calls: bodies.map((body) => ({ ...base, ...body })) },
        own,
      ),
    ];
  }

  ofAlias(alias: AliasConfig, protections: readonly Protection[]): readonly Candidate[] {
    const own = ownedBy(protections, "alias", alias.alias);
    const base = { ...this.#about, alias: alias.alias };
    const bodies = [{ message: "hi" }];
    const called = own.find(({ kind }) => kind === "alias");
    return [
      {
        name: this.#named(`${alias.alias} answers`),
        tries: bodies.map((body) => ({ call: { ...base, ...body } })),
        wanted: called && { id: called.id, way: "is called" },
        shows: ["content"],
      },
      ...this.#ofProtections(
        { settings: alias, subject: base, calls: bodies.map((body) => ({ ...base, ...body })) },
        own,
      ),
    ];
  }

  ofProxy(slug: string, protections: readonly Protection[]): readonly Candidate[] {
    const subject = { ...this.#about, proxy: slug };
    const found = this.#project.proxy_endpoints.find((one) => one.slug === slug);
    const method = found?.allowed_methods[0] ?? "GET";
    const call = { ...subject, method };
    const windows = ownedBy(protections, "proxy", slug).flatMap((protection) =>
      found === undefined ? [] : this.#window(protection, { settings: found, subject, call }),
    );
    return [
      {
        name: this.#named(`${slug} passes calls on`),
        tries: [{ call, upstream: { status: 200, body: { ok: true } } }],
        wanted: undefined,
        shows: [],
      },
      ...windows,
    ];
  }

  tokenBudget(protection: Protection): readonly Candidate[] {
    const token = this.#project.tokens.find(({ id }) => id === protection.owner.name);
    const cap = token?.monthly_budget_usd_cap;
    if (token === undefined || cap == null) return [];
    const given = { spent_usd: [{ ...this.#about, token: token.id, amount: amountOf(cap.text) }] };
    const targets: readonly PlainMap[] = [
      ...this.#project.endpoints
        .filter(({ is_active }) => is_active)
        .slice(0, 3)
        .map(({ slug }) => ({ endpoint: slug })),
      ...this.#project.aliases
        .filter(({ is_active }) => is_active)
        .slice(0, 3)
        .map(({ alias }) => ({ alias })),
    ];
    return [
      {
        name: this.#named(`the month's money of token ${token.name} ends`),
        tries: targets.map((target) => ({
          given,
          call: { ...this.#about, ...target, token: token.id, message: "hi" },
        })),
        wanted: { id: protection.id, way: "refuses" },
        shows: [],
      },
    ];
  }

  #ofProtections(called: Called, own: readonly Protection[]): readonly Candidate[] {
    return own.flatMap((protection) => {
      switch (protection.kind) {
        case "guardrail":
          return this.#guardrail(protection, called);
        case "rate limit":
          return this.#window(protection, {
            settings: called.settings,
            subject: called.subject,
            call: called.calls[0] ?? {},
          });
        case "token cap":
          return this.#tokenCap(protection, called);
        case "budget":
          return this.#budget(protection, called);
        case "input schema":
          return this.#inputSchema(protection, called);
        case "output schema":
          return this.#outputSchema(protection, called);
        case "failover":
          return this.#failover(protection, called);
        default:
          return [];
      }
    });
  }

  #guardrail(protection: Protection, { settings, subject, calls }: Called): readonly Candidate[] {
    const use = settings.guardrails[protection.index ?? 0];
    if (use === undefined) return [];
    const judged = use.on.includes("input") ? triggersOf(use) : [];
    const answered = use.on.includes("output") ? triggersOf(use) : [];
    const tries = calls.flatMap((call) => [
      // A call that is refused asks no provider.
      ...judged.flatMap((message) => {
        const test = { call: { ...call, message } };
        const replied = withReply(test, settings);
        return replied === test ? [test] : [test, replied];
      }),
      ...answered.map((reply) => ({ call, provider: { reply } })),
    ]);
    const name = `${protection.label} acts on ${this.#calledName(subject)}`;
    return [
      { name: this.#named(name), tries, wanted: { id: protection.id, way: "acts" }, shows: ["guardrails"] },
    ];
  }

  #window(
    protection: Protection,
    {
      settings,
      subject,
      call,
    }: { readonly settings: object; readonly subject: PlainMap; readonly call: PlainMap },
  ): readonly Candidate[] {
    const limit: unknown = Reflect.get(settings, protection.key);
    if (typeof limit !== "number" || limit > GIVEN_CALLS_MAX) return [];
    const span = protection.key.endsWith("minute") ? "minute" : "hour";
    // Calls of half an hour ago count in the hour alone.
    const ago = span === "hour" ? { ago: "30m" } : {};
    const tries = [{ given: { calls: [{ ...subject, count: limit, ...ago }] }, call }];
    const name = `${this.#calledName(subject)} takes ${limit} ${limit === 1 ? "call" : "calls"} ${span === "hour" ? "an" : "a"} ${span}`;
    return [{ name: this.#named(name), tries, wanted: { id: protection.id, way: "refuses" }, shows: [] }];
  }

  #tokenCap(protection: Protection, { settings, subject, calls }: Called): readonly Candidate[] {
    const cap: unknown = Reflect.get(settings, protection.key);
    if (typeof cap !== "number" || cap * CHARACTERS_PER_TOKEN > CHARACTERS_MAX) return [];
    const message = "word ".repeat(Math.ceil((cap * CHARACTERS_PER_TOKEN) / 5) + 2).trim();
    return [
      {
        name: this.#named(`a request of more than ${cap} tokens to ${this.#calledName(subject)} is refused`),
        tries: calls.map((call) => ({ call: { ...call, message } })),
        wanted: { id: protection.id, way: "refuses" },
        shows: [],
      },
    ];
  }

  #budget(protection: Protection, { settings, subject, calls }: Called): readonly Candidate[] {
    const budget = settings.monthly_budget_usd;
    if (budget === null) return [];
    const given = { spent_usd: [{ ...subject, amount: amountOf(budget.text) }] };
    return [
      {
        name: this.#named(`the month's money of ${this.#calledName(subject)} ends`),
        tries: calls.map((call) => ({ given, call })),
        wanted: { id: protection.id, way: "refuses" },
        shows: [],
      },
    ];
  }

  #inputSchema(protection: Protection, { subject, calls }: Called): readonly Candidate[] {
    const bad = [
      {},
      { message: "hi" },
      { message: "" },
      { messages: [{ role: "user", content: "hi" }] },
      { message: "hi", unknown_field: 1 },
    ];
    const name = `${this.#calledName(subject)} refuses what its input schema excludes`;
    const good = calls.map((call) => ({ call }));
    return [
      {
        name: this.#named(name),
        tries: bad.map((body) => ({ call: { ...subject, ...body } })),
        wanted: { id: protection.id, way: "refuses" },
        shows: [],
      },
      {
        name: this.#named(`${this.#calledName(subject)} accepts what its input schema asks for`),
        tries: good,
        wanted: { id: protection.id, way: "accepts" },
        shows: [],
      },
    ];
  }

  #outputSchema(protection: Protection, { settings, subject, calls }: Called): readonly Candidate[] {
    const replies = ["This is not the document that was asked for.", "{}", "null", '{"unknown_field":1}'];
    return [
      {
        name: this.#named(`${this.#calledName(subject)} refuses an answer that its output schema excludes`),
        tries: calls.flatMap((call) => replies.map((reply) => ({ call, provider: { reply } }))),
        wanted: { id: protection.id, way: "refuses" },
        shows: [],
      },
      {
        name: this.#named(`${this.#calledName(subject)} accepts an answer that its output schema describes`),
        tries: calls.map((call) => withReply({ call }, settings)),
        wanted: { id: protection.id, way: "accepts" },
        shows: [],
      },
    ];
  }

  #failover(protection: Protection, { settings, subject, calls }: Called): readonly Candidate[] {
    const before = (protection.index ?? 0) + 1;
    const failures = Array.from({ length: before }, () => ({ status: 503 }));
    const last = withReply({}, settings)["provider"] ?? { reply: "ok" };
    return [
      {
        name: this.#named(
          `${protection.label.replace(/^failover /, "")} takes over on ${this.#calledName(subject)}`,
        ),
        tries: calls.map((call) => ({ call, provider: [...failures, last] })),
        wanted: { id: protection.id, way: "takes over" },
        shows: ["attempts"],
      },
    ];
  }

  #calledName({ endpoint, alias, proxy }: PlainMap): string {
    return String(endpoint ?? alias ?? proxy);
  }

  #named(name: string): string {
    return `${this.#prefix}${name}`;
  }
}

/** What the protections of one endpoint or alias are about. */
interface Called {
  readonly settings: Settings;
  /** For `given`. */
  readonly subject: PlainMap;
  /** Calls that are probably answered. */
  readonly calls: readonly PlainMap[];
}

function ownedBy(
  protections: readonly Protection[],
  kind: Protection["owner"]["kind"],
  name: string,
): readonly Protection[] {
  return protections.filter(({ owner }) => owner.kind === kind && owner.name === name);
}

/** Bodies that are probably accepted: those that the input schema describes, then a plain message. */
function bodiesOf({ input_schema: schema }: EndpointConfig): readonly PlainMap[] {
  const plain = { message: "hi" };
  if (schema === null) return [plain];
  const sample = schemaSample(schema);
  if (!isPlainMap(sample)) return [plain];
  return Object.hasOwn(sample, "message") || Object.hasOwn(sample, "messages")
    ? [sample, { ...sample, ...plain }]
    : [{ ...sample, ...plain }, plain];
}

/** With the answer that an output schema describes. */
function withReply(test: PlainMap, settings: Settings): PlainMap {
  const schema: unknown = "output_schema" in settings ? settings.output_schema : null;
  if (schema === null) return test;
  const sample = schemaSample(schema);
  const reply =
    typeof sample === "string"
      ? JSON.stringify(sample)
      : JSON.stringify(sample, null, 1).replace(/\n */g, " ");
  return { ...test, provider: { reply } };
}

/** A number where it is one exactly. */
function amountOf(text: string): number | string {
  return String(Number(text)) === text ? Number(text) : text;
}
