/** Checks that a schema cannot express: references, uniqueness, and keys that require each other. */

import type { JsonSchema } from "../../plugin/chat.ts";
import type { ProviderConfig } from "../model.ts";
import { Source } from "../read/source.ts";
import { isPlainMap, type Spot } from "../read/tree.ts";
import type { FilledProject } from "../schema/project.ts";
import { type Check, each, reportUnknownPlugin, UniqueNames, under } from "./context.ts";
import { DEMO_TOKEN_HASH, isLoopback } from "./demo-token.ts";
import { checkAllowed, checkCleartext, checkTrustedProxies } from "./network.ts";
import { checkOptions } from "./options.ts";
import { checkPriceEntries } from "./price-entries.ts";
import { checkExpiry, checkProject } from "./project.ts";
import { checkSecret, checkSecretHeaders } from "./secrets.ts";
import { checkUrl } from "./url.ts";

export function checkConfig(check: Check): void {
  const { config } = check;
  const key = (name: keyof typeof config) => under(config, name, undefined);
  checkModules(check, key("plugins"));
  checkStore(check, key("state"));
  checkMemoryStore(check, key("state"));
  checkProviders(check, key("providers"));
  checkPriceEntries(check, config.prices, key("prices"));
  const proxies = under(config.server, "trusted_proxies", key("server"));
  checkTrustedProxies(check, config.server.trusted_proxies, proxies);
  checkAllowed(check, config.network.allow, under(config.network, "allow", key("network")));
  const { otlp } = config.telemetry;
  const exporter = under(config.telemetry, "otlp", key("telemetry"));
  checkUrl(check, otlp, "endpoint", exporter);
  checkSecretHeaders(check, otlp.headers, under(otlp, "headers", exporter));
  if (Object.keys(otlp.headers).length > 0)
    checkCleartext(check, otlp, "endpoint", { parent: exporter, what: "its headers" });
  const registries = {
    projectUuids: new UniqueNames(check, "project uuid"),
    projectIds: new UniqueNames(check, "project id"),
    tokenIds: new UniqueNames(check, "token id"),
    tokenHashes: new UniqueNames(check, "token hash"),
  };
  const names = new UniqueNames(check, "control-plane token");
  for (const [token, spot] of each(
    config.control_plane.tokens,
    under(config.control_plane, "tokens", key("control_plane")),
  )) {
    names.add(token.name, under(token, "name", spot));
    registries.tokenHashes.add(token.hash?.toLowerCase(), under(token, "hash", spot), "");
    checkExpiry(check, token, spot);
  }
  if (config.control_plane.listener === "admin" && !config.admin.enabled) {
    const spot = under(config.control_plane, "listener", key("control_plane"));
    check.report(
      "E0323",
      spot,
      "the control plane is on the admin listener, which `admin.enabled` switches off",
    );
  }
  for (const [project, spot] of each(config.projects, key("projects"))) {
    checkProject(check, project, spot, registries);
    checkDemoToken(check, project, spot);
  }
}

/** The demo token is public: it must not open a gateway that other machines reach. */
function checkDemoToken(check: Check, project: FilledProject, parent: Spot): void {
  const { host } = check.config.server;
  if (isLoopback(host)) return;
  for (const [token, spot] of each(project.tokens, under(project, "tokens", parent))) {
    if (token.hash?.toLowerCase() !== DEMO_TOKEN_HASH) continue;
    const message = `this is the demo token, which is public, and server.host is ${host}`;
    check.report("E0320", under(token, "hash", spot), message, {
      help: "make a token of your own with `sluice token new`, or listen on 127.0.0.1",
    });
  }
}

/** A module that failed is reported where it is named. */
function checkModules(check: Check, parent: Spot): void {
  const { tree, plugins, config } = check;
  for (const { module, message, at } of plugins.failures) {
    for (const [name, spot] of each(config.plugins, parent)) {
      const { file, line, column } = module.at;
      if (check.reporter.place(spot) !== `${file}:${line}:${column}`) continue;
      tree.markFault(config.plugins, spot.key);
      const source = at === undefined ? undefined : check.sources?.read(at.file);
      if (at !== undefined && source instanceof Source) {
        const start = source.offset(at.line, at.column);
        const help = `the plugin is named at ${check.reporter.place(spot)}`;
        const what = `plugin \`${name}\` does not parse: ${message}`;
        const path = tree.path(spot);
        check.reporter.reportRange("E0316", { source, start, end: start + 1 }, what, { help, path });
      } else {
        check.report("E0316", spot, `plugin \`${name}\` cannot be used: ${message}`);
      }
    }
  }
}

/** One warning, where the driver is or would be set. */
function checkMemoryStore(check: Check, spot: Spot): void {
  const { state, projects, control_plane: control } = check.config;
  if (state.driver !== "memory") return;
  const lost: string[] = [];
  const isGiven = (amount: unknown): boolean => amount !== null && amount !== undefined;
  const items = <T>(list: readonly T[]): readonly T[] => [...each(list, spot)].map(([item]) => item);
  const owners = items(projects);
  if (owners.some(({ endpoints }) => items(endpoints).some((one) => isGiven(one.monthly_budget_usd))))
    lost.push("monthly budgets");
  if (owners.some(({ tokens }) => items(tokens).some((one) => isGiven(one.monthly_budget_usd_cap))))
    lost.push("caps of tokens");
  if (control.tokens.length > 0) lost.push("what the control plane changes");
  if (lost.length === 0) return;
  const message = `state.driver is 'memory', which a restart empties: ${lost.join(", ")} start anew`;
  check.report("W0120", under(state, "driver", spot), message, {
    help: "set `state.driver: file` on one machine, or `redis` for several replicas",
  });
}

function checkStore(check: Check, spot: Spot): void {
  const { config, plugins } = check;
  const { driver, options } = config.state;
  const plugin = plugins.find("store", driver);
  if (plugin !== undefined) {
    checkOptions(check, options, plugin.schema, under(config.state, "options", spot));
  } else {
    reportUnknownPlugin(check, "store", under(config.state, "driver", spot), { name: driver });
  }
}

function checkProviders(check: Check, parent: Spot): void {
  const { providers } = check.config;
  for (const [name, settings] of Object.entries(providers)) {
    if (settings === null) continue;
    const spot = under(providers, name, parent);
    checkUrl(check, settings, "base_url", spot);
    checkCleartext(check, settings, "base_url", { parent: spot, what: "API keys and prompts" });
    checkTransport(check, settings, spot);
    const plugin = check.plugins.find("provider", name);
    if (plugin === undefined) reportUnknownPlugin(check, "provider", spot, { name, at: "key" });
    else
      checkOptions(check, settings.options, withoutRequired(plugin.schema), under(settings, "options", spot));
  }
}

/** How the provider is reached: a forward proxy may need a password, a client certificate needs its key. */
function checkTransport(check: Check, settings: ProviderConfig, parent: Spot): void {
  const { proxy, client_cert: cert, client_key: key } = settings;
  checkSecret(check, under(settings, "client_key", parent), key);
  if ((cert === null) !== (key === null)) {
    const [given, missing] = cert === null ? ["client_key", "client_cert"] : ["client_cert", "client_key"];
    const message = `\`${given}\` needs \`${missing}\`: a client certificate is sent with its private key`;
    check.report("E0102", under(settings, given, parent), message);
  }
  if (proxy === null) return;
  const spot = under(settings, "proxy", parent);
  if (!URL.canParse(proxy))
    check.report("E0105", spot, "proxy is not a valid URL: its host or port is malformed");
  else if (new URL(proxy).password !== "") checkSecret(check, spot, proxy);
}

/** A value that is missing here may be in the credential. */
function withoutRequired(schema: JsonSchema): JsonSchema {
  if (!isPlainMap(schema)) return schema;
  const { required: _, ...rest } = schema;
  return rest;
}
