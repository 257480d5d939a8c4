/** Where the keys of one endpoint, alias or proxy endpoint are written, as text for people. */
import type { EndpointConfig, ProjectConfig, ResolvedConfig, SourcePlace } from "../../config/model.ts";
import type { PlaceOf } from "../protections.ts";

/** What a request is explained for. */
export interface ExplainedObject {
  readonly kind: "endpoint" | "alias" | "proxy";
  readonly project: ProjectConfig;
  /** Slug or alias. */
  readonly name: string;
  /** Settings of an endpoint, or of an alias as the endpoint that it is. */
  readonly settings: EndpointConfig | undefined;
}

export type PlaceText = (at: SourcePlace) => string;

const LISTS = { endpoint: "endpoints", alias: "aliases", proxy: "proxy_endpoints" } as const;
/** Keys that a provider template brings. */
const FROM_TEMPLATE: ReadonlySet<string> = new Set(["provider", "model", "credential"]);

/** What a load knows of how a configuration is written. */
export interface Written {
  readonly placeOf: PlaceOf;
  readonly placeText: PlaceText;
  /** A value as it may be shown, references as they are written. */
  readonly writtenAt: (path: readonly (string | number)[]) => unknown;
}

export class Places {
  readonly #placeOf: PlaceOf;
  readonly #text: PlaceText;
  readonly #writtenAt: Written["writtenAt"];
  readonly #config: ResolvedConfig;
  readonly #object: readonly (string | number)[];
  readonly #project: readonly (string | number)[];

  constructor(config: ResolvedConfig, object: ExplainedObject, { placeOf, placeText, writtenAt }: Written) {
    this.#config = config;
    this.#placeOf = placeOf;
    this.#text = placeText;
    this.#writtenAt = writtenAt;
    const { project, kind, name } = object;
    this.#project = ["projects", config.projects.indexOf(project)];
    const names = {
      endpoint: () => project.endpoints.map(({ slug }) => slug),
      alias: () => project.aliases.map(({ alias }) => alias),
      proxy: () => project.proxy_endpoints.map(({ slug }) => slug),
    };
    this.#object = [...this.#project, LISTS[kind], names[kind]().indexOf(name)];
  }

  /** Of the endpoint itself. */
  get object(): string | null {
    return this.#at(this.#object);
  }

  /** null: the value is a default. */
  key(...path: readonly (string | number)[]): string | null {
    const own = this.#at([...this.#object, ...path]);
    const [first] = path;
    if (own !== null || typeof first !== "string" || !FROM_TEMPLATE.has(first)) return own;
    return this.#at([...this.#object, "provider_template"]);
  }

  /** The text of a key as it is written, with its references. */
  written(...path: readonly (string | number)[]): string | undefined {
    const value = this.#writtenAt([...this.#object, ...path]);
    return typeof value === "string" ? value : undefined;
  }

  /** A key of a token of the project; without a key the token itself. */
  token(index: number, ...path: readonly string[]): string | null {
    return this.#at([...this.#project, "tokens", index, ...path]);
  }

  credential(name: string): string | null {
    const project = this.#config.projects[Number(this.#project[1])];
    const index = project?.credentials.findIndex((one) => one.name === name) ?? -1;
    return index < 0 ? null : this.#at([...this.#project, "credentials", index]);
  }

  /** A price of the configuration's own list. */
  price(provider: string, model: string): string | null {
    const index = this.#config.prices.findIndex((one) => one.provider === provider && one.model === model);
    return index < 0 ? null : this.#at(["prices", index]);
  }

  #at(path: readonly (string | number)[]): string | null {
    const place = this.#placeOf(path);
    return place === undefined || place.file === "" ? null : this.#text(place);
  }
}
