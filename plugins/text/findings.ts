/** What the guardrails that block or mask findings share: options, the verdict, and overlapping findings. */
import { block, type GatewayError, replace, type Verdict } from "sluice/plugin";

export type Mode = "block" | "mask";

/** The schema of an option `mode`. `mask`: what mask mode does. */
export function modeOption(mask: string) {
  const description = `block: refuse the call. mask: ${mask}`;
  return { enum: ["block", "mask"], default: "block", description } as const;
}

/** The schema of an option `kinds`, all of them by default. */
export function kindsOption<const K extends readonly string[]>(kinds: K) {
  return {
    type: "array",
    minItems: 1,
    uniqueItems: true,
    items: { enum: kinds },
    default: kinds,
    description: "What to look for.",
  } as const;
}

/** A span of a text, and what it is. Holds none of the text. */
export interface Finding<Name extends string = string> {
  readonly name: Name;
  readonly start: number;
  readonly end: number;
}

/** Of findings that overlap, keeps the one that begins first, and of two that begin together the longer. */
export function withoutOverlaps<F extends Finding>(found: readonly F[]): readonly F[] {
  if (found.length < 2) return found;
  let end = 0;
  return found
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter((finding) => {
      if (finding.start < end) return false;
      end = finding.end;
      return true;
    });
}

/** How a guardrail acts on its findings. */
export interface FindingActions<F extends Finding> {
  readonly mode: Mode;
  /** Block mode: the refusal that names the first finding, and the reason for the log. */
  refusal(first: F): { readonly error: GatewayError; readonly reason: string };
  /** Mask mode: the text in place of a finding. */
  mask(finding: F): string;
  /** Mask mode: number the masks and restore the originals in the answer. */
  readonly restore?: boolean;
}

/** Blocks for the first finding, or masks all of them. `found`: ascending, not overlapping. */
export function verdictOnFindings<F extends Finding>(
  found: readonly F[],
  { mode, refusal, mask, restore }: FindingActions<F>,
): Verdict {
  const [first] = found;
  if (first === undefined) return undefined;
  if (mode === "block") {
    const { error, reason } = refusal(first);
    return block(error, reason, found);
  }
  const edits = found.map((finding) => ({ start: finding.start, end: finding.end, text: mask(finding) }));
  return replace(edits, [...new Set(found.map(({ name }) => name))].join(", "), restore);
}
