/** Finds the functions of a source text, with their lines and parameters, by looking back from every `{`. */
import { bracketsOf, codeOf, lineOf } from "./code.ts";

export interface FoundFunction {
  /** Line of its parameters' opening parenthesis, from 1. */
  readonly line: number;
  /** From that line to its closing brace. */
  readonly lines: number;
  readonly parameters: number;
}

const NO_FUNCTION = /\b(?:if|for|while|switch|catch|with|await)\s*$/;

export function functionsOf(source: string): FoundFunction[] {
  const code = codeOf(source);
  const partners = bracketsOf(code);
  const found: FoundFunction[] = [];
  for (let at = code.indexOf("{"); at >= 0; at = code.indexOf("{", at + 1)) {
    const close = partners.get(at);
    const end = parametersEnd(code, partners, at);
    const start = end === undefined ? undefined : partners.get(end);
    if (close === undefined || end === undefined || start === undefined) continue;
    if (NO_FUNCTION.test(code.slice(Math.max(0, start - 20), start))) continue;
    const line = lineOf(code, start);
    found.push({
      line,
      lines: lineOf(code, close) - line + 1,
      parameters: parametersIn(code.slice(start + 1, end)),
    });
  }
  return found;
}

/** The `)` of the parameters of the function whose body begins at `brace`; undefined when it is no function's. */
function parametersEnd(
  code: string,
  partners: ReadonlyMap<number, number>,
  brace: number,
): number | undefined {
  let at = before(code, brace);
  if (code[at] === ">" && code[at - 1] === "=") at = before(code, at - 1);
  if (code[at] === ")") return at;
  // A result's type stands between: back over it to `):`.
  let angles = 0;
  while (at >= 0) {
    const one = code[at] ?? "";
    if (one === ":" && angles === 0) {
      const end = before(code, at);
      return code[end] === ")" ? end : undefined;
    }
    if (one === ">" && code[at - 1] !== "=") angles += 1;
    else if (one === "<") angles -= 1;
    else if (")]}".includes(one)) {
      const open = partners.get(at);
      if (open === undefined) return undefined;
      // Braces that are no type end the look back.
      if (one === "}" && !":|&<,(".includes(code[before(code, open)] ?? "")) return undefined;
      at = open;
    } else if (";={([".includes(one) || (one === "," && angles === 0)) return undefined;
    at = before(code, at);
  }
  return undefined;
}

/** Parameters at the top of a list; what stands in brackets of any kind belongs to one of them. */
function parametersIn(list: string): number {
  if (list.trim() === "") return 0;
  let depth = 0;
  let commas = 0;
  const trimmed = list.trimEnd().replace(/,$/, "");
  for (let at = 0; at < trimmed.length; at += 1) {
    const one = trimmed[at] ?? "";
    if ("([{<".includes(one)) depth += 1;
    else if (")]}".includes(one) || (one === ">" && trimmed[at - 1] !== "=")) depth -= 1;
    else if (one === "," && depth === 0) commas += 1;
  }
  return commas + 1;
}

function before(code: string, place: number): number {
  let at = place - 1;
  while (at >= 0 && /\s/.test(code[at] ?? "")) at -= 1;
  return at;
}
