/** The final prompt with where each part comes from, and the targets that would be asked with it. */
import { optionsOf } from "../../compile/output-limit.ts";
import type { EndpointConfig } from "../../config/model.ts";
import { contentText } from "../../plugin/content.ts";
import { estimateTokens, type Message, type Target } from "../../plugin/index.ts";
import { adjustmentText, constraintsOf, fitSettings } from "../../plugin/settings.ts";
import type { Registry } from "../../plugins-host/registry.ts";
import { targetName } from "../sent.ts";
import type { Detail, StageExplanation } from "./explanation.ts";
import { counted } from "./guard-stages.ts";
import type { Places } from "./places.ts";
import { type Explained, reached, stageEntry } from "./request-stages.ts";

/** What was sent, and to what it would be sent. */
export interface PromptParts {
  /** In their order, as the model gets them; undefined: the call did not come so far. */
  readonly messages: readonly Message[] | undefined;
  readonly targets: readonly Target[];
  readonly registry: Registry;
  /** Fields of the call that a target has no word for, by target; the target is left out of this call. */
  readonly unsupported: (target: Target) => string | undefined;
  /** Hints of the call that are left out for a target. */
  readonly dropped: (target: Target) => readonly string[];
}

export function prepareStage(explained: Explained, { messages }: PromptParts): StageExplanation {
  const { object, record } = explained;
  if (!reached(explained, "prepare") || messages === undefined) {
    return stageEntry(explained, "prepare", { outcome: "ok", summary: "" });
  }
  const characters = messages.reduce((sum, { content }) => sum + contentText(content).length, 0);
  const session = record.session_id === null ? "" : ", in a conversation";
  const summary = `${counted(messages.length, "message")}, ${counted(characters, "character")}, about ${counted(estimateTokens(characters), "token")}${session}`;
  const details = partsOf(explained, object.settings, messages);
  return stageEntry(explained, "prepare", { outcome: "ok", summary, details });
}

/** The prompt first, then the conversation's history, then what the client sent. */
function partsOf(
  { places, received, record }: Explained,
  settings: EndpointConfig | undefined,
  messages: readonly Message[],
): readonly Detail[] {
  const hasPrompt = (settings?.prompt ?? "") !== "";
  const history = messages.length - (hasPrompt ? 1 : 0) - received.length;
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const isWrapped = (settings?.user_prompt_template ?? "") !== "";
  return messages.map((message, index): Detail => {
    const { role, content } = message;
    const body = contentText(content);
    const own = { name: role, body, data: { index, role, characters: body.length } };
    if (hasPrompt && index === 0)
      return { ...own, text: `prompt${fileOf(places, "prompt")}`, at: places.key("prompt") };
    const from = index - (hasPrompt ? 1 : 0) - history;
    if (from < 0) return { ...own, text: "history of the conversation", at: null };
    const masks = record.guardrails
      .filter(({ side, verdicts }) => side === "input" && verdicts.some((one) => isMask(one, from)))
      .map(({ guardrail }) => guardrail);
    const masked = masks.length === 0 ? "" : `, masked by ${[...new Set(masks)].join(", ")}`;
    const wrapped = isWrapped && index === lastUser;
    const text = `messages[${from}] of the request${masked}${wrapped ? `, in user_prompt_template${fileOf(places, "user_prompt_template")}` : ""}`;
    return { ...own, text, at: wrapped ? places.key("user_prompt_template") : null };
  });
}

/** The file that a text is read from. */
function fileOf(places: Places, key: string): string {
  const file = /^\$\{file:([^}]*)\}$/.exec(places.written(key) ?? "")?.[1];
  return file === undefined ? "" : ` from ${file}`;
}

/** A proxy endpoint's upstream; its headers by name alone. */
function proxyStage(explained: Explained): StageExplanation {
  const { object, places } = explained;
  const proxy = object.project.proxy_endpoints.find(({ slug }) => slug === object.name);
  if (proxy === undefined) return stageEntry(explained, "call", { outcome: "ok", summary: "" });
  const url = places.written("upstream_url") ?? "";
  const details: Detail[] = [
    { name: "upstream_url", text: url, at: places.key("upstream_url") },
    { name: "timeout_ms", text: String(proxy.timeout_ms), at: places.key("timeout_ms") },
  ];
  const headers = Object.keys(proxy.headers);
  if (headers.length > 0)
    details.push({ name: "headers", text: `adds ${headers.join(", ")}`, at: places.key("headers") });
  if (proxy.oauth_connection !== null) {
    const text = `an access token of '${proxy.oauth_connection}'`;
    details.push({ name: "oauth_connection", text, at: places.key("oauth_connection") });
  }
  return stageEntry(explained, "call", { outcome: "ok", summary: `${url} is asked`, details });
}

function isMask(
  { verdict, shadow, where }: Explained["record"]["guardrails"][number]["verdicts"][number],
  index: number,
): boolean {
  return verdict === "replace" && !shadow && where === `messages[${index}]`;
}

export function callStage(explained: Explained, parts: PromptParts): StageExplanation {
  const { object } = explained;
  if (object.settings === undefined) return proxyStage(explained);
  if (!reached(explained, "call")) return stageEntry(explained, "call", { outcome: "ok", summary: "" });
  const details = parts.targets.map((target, index) => targetDetail(explained, parts, { target, index }));
  const [first] = parts.targets.filter((target) => canBeAsked(parts, target));
  const others = parts.targets.length - 1;
  const takeovers =
    others > 0 ? `, then ${counted(others, "failover entry").replace("entrys", "entries")}` : "";
  const summary =
    first === undefined ? "no target can be asked" : `${targetName(first)} is asked${takeovers}`;
  return stageEntry(explained, "call", { outcome: "ok", summary, details });
}

function canBeAsked({ unsupported }: PromptParts, target: Target): boolean {
  return target.enabled && target.active && unsupported(target) === undefined;
}

function targetDetail(
  { config, object, places }: Explained,
  parts: PromptParts,
  { target, index }: { readonly target: Target; readonly index: number },
): Detail {
  const { registry, unsupported, dropped } = parts;
  const { settings } = object;
  const written = places.written(...(index === 0 ? ["model"] : ["failover", index - 1, "model"]));
  const name = targetName(written?.includes("${") === true ? { ...target, model: written } : target);
  const at = index === 0 ? places.key("model") : places.key("failover", index - 1);
  if (!target.enabled) return { name, verdict: "off", text: `provider ${target.provider} is disabled`, at };
  if (!target.active) {
    return { name, verdict: "off", text: `credential ${target.credential} is inactive`, at };
  }
  const field = unsupported(target);
  if (field !== undefined) {
    return { name, verdict: "off", text: `left out of this call: ${target.label} has no \`${field}\``, at };
  }
  const plugin = registry.providers.get(target.provider);
  const credential = object.project.credentials.find((one) => one.name === target.credential);
  const wanted = {
    temperature: settings?.temperature ?? undefined,
    topP: settings?.top_p ?? undefined,
    maxOutputTokens: settings?.max_output_tokens ?? undefined,
  };
  // Checked against the plugin's own schema at load.
  const constraints =
    plugin === undefined ? [] : constraintsOf(plugin, optionsOf({ config }, plugin, credential) as never);
  const { adjustments } = fitSettings(constraints, target.model, wanted);
  const sent = settingsText(target.settings);
  const left = adjustments.map((one) => adjustmentText(one, target.model));
  const hints = dropped(target).map((hint) => `${hint} is not sent: ${target.label} does not know it`);
  const text = [sent, ...left, ...hints].filter((part) => part !== "").join("; ");
  return {
    ...{ name, verdict: index === 0 ? "first" : `then ${index}`, text: text || "no settings", at },
    data: {
      ...{ provider: target.provider, credential: target.credential, model: target.model },
      settings: settingsData(target.settings),
      left_out: adjustments.map(({ setting, wanted: value, sent: put, reason }) => ({
        ...{ setting, wanted: value, sent: put ?? null, reason },
      })),
      dropped: dropped(target),
    },
  };
}

function settingsData({
  temperature,
  topP,
  maxOutputTokens,
  responseSchema,
}: Target["settings"]): Record<string, number | boolean | null> {
  return {
    temperature: temperature ?? null,
    top_p: topP ?? null,
    max_output_tokens: maxOutputTokens ?? null,
    output_schema: responseSchema !== undefined,
  };
}

function settingsText({ temperature, topP, maxOutputTokens, responseSchema }: Target["settings"]): string {
  return [
    temperature === undefined ? "" : `temperature ${temperature}`,
    topP === undefined ? "" : `top_p ${topP}`,
    maxOutputTokens === undefined ? "" : `max_output_tokens ${maxOutputTokens}`,
    responseSchema === undefined ? "" : "output_schema",
  ]
    .filter((part) => part !== "")
    .join(", ");
}
