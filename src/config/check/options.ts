/** Guardrails, stages and the options of all plugins, checked against the plugins' own schemas. */
import type { JsonSchema } from "../../plugin/chat.ts";
import type { KnownPlugin } from "../plugins.ts";
import type { Key, PlainMap, Spot, Tree } from "../read/tree.ts";
import type { FilledGuardrailUse, FilledStageUse } from "../schema/endpoint.ts";
import { GUARDRAIL_KEYS } from "../schema/endpoint.ts";
import { type Check, each, reportUnknownPlugin, under } from "./context.ts";
import { validateTree } from "./validate.ts";

/** `streams`: answers may be streamed where these guardrails are used. */
export function checkGuardrails(
  check: Check,
  uses: readonly FilledGuardrailUse[],
  parent: Spot,
  streams: boolean,
): void {
  for (const [use, spot] of each(uses, parent)) {
    if (use.use === undefined) continue;
    const plugin = check.plugins.find("guardrail", use.use);
    for (const key of doubledOptions(use)) {
      const beside = check.reporter.place(under(use, key, spot));
      const message = `option \`${key}\` is set both here and next to \`use\`, at ${beside}`;
      check.report("E0109", under(use.options, key, under(use, "options", spot)), message, {
        at: "key",
        help: "keep one of the two",
      });
    }
    if (plugin !== undefined) {
      const options = guardrailOptions(use, spot, check.tree);
      const before = errorCount(check);
      checkOptions({ ...check, alsoKnown: GUARDRAIL_KEYS }, options, plugin.schema, spot);
      // A faulty option has been removed: that it is missing now is not a second mistake.
      if (errorCount(check) === before) checkUse(check, { plugin, use, options }, spot, streams);
    } else if (check.plugins.find("stage", use.use) !== undefined) {
      const help = "stages go under `stages`";
      check.report("E0305", under(use, "use", spot), `\`${use.use}\` is a stage, not a guardrail`, { help });
    } else {
      reportUnknownPlugin(check, "guardrail", under(use, "use", spot), { name: use.use });
    }
  }
}

function errorCount({ reporter }: Check): number {
  return reporter.errors.length + reporter.omitted.errors;
}

interface GuardrailOptions {
  readonly plugin: KnownPlugin;
  readonly use: FilledGuardrailUse;
  readonly options: PlainMap;
}

/** What a schema cannot express: options that contradict each other or their place, and their effect on streams. */
function checkUse(
  check: Check,
  { plugin, use, options }: GuardrailOptions,
  spot: Spot,
  streams: boolean,
): void {
  try {
    for (const { option, message, help } of plugin.validateOptions?.(options, use) ?? []) {
      check.report("E0108", option === undefined ? spot : placeOf(use, option, spot), message, { help });
    }
    if (!streams || use.shadow || !use.on.includes("output") || plugin.buffersStream?.(options) !== true)
      return;
    const message = `\`${use.use}\` holds a streamed answer to its end: its clients see nothing before`;
    check.report("W0110", spot, message, {
      help: "set `streaming_enabled: false`, or take `output` out of `on`",
    });
  } catch {
    // The options are faulty, which has been reported.
  }
}

/** An option is next to `use` or under `options`. */
function placeOf(use: FilledGuardrailUse, option: string, spot: Spot): Spot {
  return Object.hasOwn(use.options, option)
    ? under(use.options, option, under(use, "options", spot))
    : under(use, option, spot);
}

export function checkStages(check: Check, uses: readonly FilledStageUse[], parent: Spot): void {
  for (const [use, spot] of each(uses, parent)) {
    if (use.use === undefined) continue;
    const plugin = check.plugins.find("stage", use.use);
    if (plugin === undefined) reportUnknownPlugin(check, "stage", under(use, "use", spot), { name: use.use });
    else checkOptions(check, use.options, plugin.schema, under(use, "options", spot));
  }
}

/** Validates options at their place, and reports a schema that cannot be used. */
export function checkOptions(check: Check, options: object, schema: JsonSchema, spot: Spot): void {
  const refusal = validateTree(options, schema, spot, { ...check, isWhole: true, author: "plugin" });
  if (refusal === undefined) return;
  const { message, help } = refusal;
  check.report("E0316", spot, `the plugin's schema cannot be used: ${message}`, { help });
}

function doubledOptions(use: FilledGuardrailUse): readonly string[] {
  return Object.keys(use.options).filter((key) => !GUARDRAIL_KEYS.has(key) && Object.hasOwn(use, key));
}

/** A guardrail's options, those next to `use` and those under `options`, in one map with the places of both. */
function guardrailOptions(use: FilledGuardrailUse, spot: Spot, tree: Tree): PlainMap {
  const over = { options: use.options, spot: under(use, "options", spot) };
  return layered(optionsBesideUse(use), use, over, tree);
}

/** Keys of a guardrail's entry other than the gateway's own. */
export function optionsBesideUse(use: FilledGuardrailUse): PlainMap {
  const options: Record<string, unknown> = {};
  for (const key of Object.keys(use)) if (!GUARDRAIL_KEYS.has(key)) options[key] = use[key];
  return options;
}

/** Options laid over others, with the places of both. `origin`: the map that `base` was taken from. */
export function layered(
  base: PlainMap,
  origin: object,
  over: { readonly options: Readonly<Record<string, unknown>>; readonly spot: Spot },
  tree: Tree,
): PlainMap {
  const moved = new Map<Key, Spot>();
  for (const key of Object.keys(over.options)) moved.set(key, under(over.options, key, over.spot));
  const whole = { ...base, ...over.options };
  tree.derived(whole, origin, moved);
  return whole;
}
