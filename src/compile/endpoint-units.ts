/**
 * Compiled endpoints and aliases as units of the instance pool: one whose configuration, and everything it depends on,
 * is the same in two generations is compiled once and shared, so that a reload compiles what has changed.
 */
import { textKey } from "../base/ids.ts";
import type { AliasConfig, EndpointConfig, ProjectConfig, ResolvedConfig } from "../config/model.ts";
import { entryKeys } from "../config/read/entry-keys.ts";
import type { MaybePromise } from "../plugin/index.ts";
import { andThen, isPromise } from "../plugin/index.ts";
import type { InstanceLease } from "../plugins-host/instances.ts";
import type { CompileContext } from "./context.ts";
import { compileEndpoint, endpointOf } from "./endpoint.ts";
import type { CompiledEndpoint } from "./model.ts";

/** What the pool knows units by. */
const UNITS = Object.freeze({ name: "endpoints" });

interface Unit {
  readonly compiled: CompiledEndpoint;
  /** Of the instances that it runs on. */
  readonly lease: InstanceLease;
}

export class EndpointUnits {
  readonly #context: CompileContext;
  readonly #project: ProjectConfig;
  readonly #basis: string;

  constructor(context: CompileContext, project: ProjectConfig) {
    this.#context = context;
    this.#project = project;
    this.#basis = basisKey(context.config, project);
  }

  endpoint(endpoint: EndpointConfig): MaybePromise<CompiledEndpoint> {
    const key = `endpoint ${this.#basis} ${entryKeys(endpoint).content}`;
    return this.#unit(key, () => endpoint);
  }

  alias(alias: AliasConfig): MaybePromise<CompiledEndpoint> {
    const key = `alias ${this.#basis} ${entryKeys(alias).content}`;
    return this.#unit(key, () => endpointOf(this.#context.registry, this.#project, alias));
  }

  #unit(key: string, endpoint: () => EndpointConfig): MaybePromise<CompiledEndpoint> {
    const unit = this.#context.lease.takeByKey<Unit>(UNITS, key, {
      make: () => this.#made(endpoint()),
      close: ({ lease }) => lease.release(),
      isComposite: true,
    });
    return andThen(unit, ({ compiled }) => compiled);
  }

  #made(endpoint: EndpointConfig): MaybePromise<Unit> {
    const lease = this.#context.lease.another();
    const failed = (thrown: unknown): never => {
      // The failure that is reported is the one of the setup; what is released here was set up before it.
      lease.release().catch(() => undefined);
      throw thrown;
    };
    try {
      const compiled = compileEndpoint({ ...this.#context, lease }, this.#project, endpoint);
      if (!isPromise(compiled)) return { compiled, lease };
      return compiled.then((made) => ({ compiled: made, lease }), failed);
    } catch (thrown) {
      return failed(thrown);
    }
  }
}

/**
 * Everything beside itself that a compiled endpoint may depend on. Other entries are left out, and where things are
 * written; a key that is new to the configuration is included until it is excluded here.
 */
function basisKey(config: ResolvedConfig, project: ProjectConfig): string {
  const {
    endpoints: _endpoints,
    aliases: _aliases,
    tokens: _callers,
    webhooks: _webhooks,
    proxy_endpoints: _proxies,
    mcp_servers: _servers,
    oauth_connections: _connections,
    ...own
  } = project;
  const basis = { ...own, credentials: placeless(own.credentials), stages: placeless(own.stages) };
  return textKey(`${gatewayKey(config)} ${JSON.stringify(basis)}`);
}

const gatewayKeys = new WeakMap<ResolvedConfig, string>();

/** Of what all projects share; made once per configuration. */
function gatewayKey(config: ResolvedConfig): string {
  let key = gatewayKeys.get(config);
  if (key === undefined) {
    const { projects: _projects, control_plane: _tokens, plugins, ...gateway } = config;
    key = textKey(JSON.stringify({ ...gateway, plugins: placeless(plugins) }));
    gatewayKeys.set(config, key);
  }
  return key;
}

function placeless(list: readonly { readonly at: unknown }[]): readonly object[] {
  return list.map((entry) => ({ ...entry, at: undefined }));
}
