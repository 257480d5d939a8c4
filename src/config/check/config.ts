/** All checks that a schema cannot make: what refers to what, what may stand once, what needs what. */
import { isIP } from "node:net";
import type { JsonSchema } from "../../plugin/index.ts";
import { isPlainMap, type Spot } from "../tree.ts";
import { type Check, each, Registry, reportUnknownPlugin, under } from "./context.ts";
import { checkOptions } from "./options.ts";
import { checkProject } from "./project.ts";
import { checkSecretHeaders } from "./secrets.ts";
import { checkUrl } from "./url.ts";
import { checkUsd } from "./usd.ts";

/** Stores that ship; a plugin may register others. */
const DRIVERS = ["memory", "file", "redis"];

export function checkConfig(check: Check): void {
  const { config } = check;
  const key = (name: keyof typeof config) => under(config, name, undefined);
  checkModules(check, key("plugins"));
  checkStore(check, key("state"));
  checkProviders(check, key("providers"));
  const models = new Registry(check, "price of");
  for (const [price, spot] of each(config.prices, key("prices"))) {
    const { provider, model } = price;
    if (provider !== undefined && model !== undefined)
      models.add(`${provider}/${model}`, under(price, "model", spot));
    for (const amount of ["input", "output", "cached_input"] as const) checkUsd(check, price, amount, spot);
  }
  checkBlocks(
    check,
    config.server.trusted_proxies,
    under(config.server, "trusted_proxies", key("server")),
    () => true,
  );
  const allowed = under(config.network, "allow", key("network"));
  checkBlocks(check, config.network.allow, allowed, (entry) => entry.includes("/"));
  const { otlp } = config.telemetry;
  const exporter = under(config.telemetry, "otlp", key("telemetry"));
  checkUrl(check, otlp, "endpoint", exporter);
  checkSecretHeaders(check, otlp.headers, under(otlp, "headers", exporter));
  const registries = {
    projectUuids: new Registry(check, "project uuid"),
    projectIds: new Registry(check, "project id"),
    tokenIds: new Registry(check, "token id"),
    tokenHashes: new Registry(check, "token hash"),
  };
  const names = new Registry(check, "control-plane token");
  for (const [token, spot] of each(
    config.control_plane.tokens,
    under(config.control_plane, "tokens", key("control_plane")),
  )) {
    names.add(token.name, under(token, "name", spot));
    registries.tokenHashes.add(token.hash?.toLowerCase(), under(token, "hash", spot), "");
  }
  for (const [project, spot] of each(config.projects, key("projects")))
    checkProject(check, project, spot, registries);
}

/** A module that failed is reported where it is named. */
function checkModules(check: Check, parent: Spot): void {
  const { tree, plugins, config } = check;
  for (const { module, message } of plugins.failures) {
    for (const [name, spot] of each(config.plugins, parent)) {
      const { file, line, column } = module.at;
      if (check.reporter.place(spot) !== `${file}:${line}:${column}`) continue;
      tree.markFault(config.plugins, spot.key);
      check.report("E0316", spot, `plugin \`${name}\` cannot be used: ${message}`);
    }
  }
}

function checkStore(check: Check, spot: Spot): void {
  const { config, plugins } = check;
  const { driver, options } = config.state;
  const plugin = plugins.find("store", driver);
  if (plugin !== undefined) {
    checkOptions(check, options, plugin.schema, under(config.state, "options", spot));
  } else if (!DRIVERS.includes(driver)) {
    const names = [...DRIVERS, ...plugins.names("store")];
    reportUnknownPlugin(check, "store", under(config.state, "driver", spot), { name: driver, names });
  }
}

function checkProviders(check: Check, parent: Spot): void {
  const { providers } = check.config;
  for (const [name, settings] of Object.entries(providers)) {
    if (settings === null) continue;
    const spot = under(providers, name, parent);
    checkUrl(check, settings, "base_url", spot);
    const plugin = check.plugins.find("provider", name);
    if (plugin === undefined) reportUnknownPlugin(check, "provider", spot, { name, at: "key" });
    else
      checkOptions(check, settings.options, withoutRequired(plugin.schema), under(settings, "options", spot));
  }
}

/** What is missing here may stand in the credential. */
function withoutRequired(schema: JsonSchema): JsonSchema {
  if (!isPlainMap(schema)) return schema;
  const { required: _, ...rest } = schema;
  return rest;
}

function checkBlocks(
  check: Check,
  blocks: readonly string[],
  parent: Spot,
  isBlock: (text: string) => boolean,
): void {
  for (const [block, spot] of each(blocks, parent)) {
    const [address = "", bits] = block.split("/");
    const family = isIP(address);
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
    if (!isBlock(block) || (family !== 0 && fits)) continue;
    check.report("E0105", spot, `\`${block}\` is no address and no CIDR block`);
  }
}
