/** Output of `sluice state`: the content of a state folder as a plain value, and that value as text. */
import type { NanoUsdJson } from "../base/money.ts";
import type { Fault } from "../state/file/line-chain.ts";
import { faultText, lossText } from "../state/file/loss.ts";
import type { CheckedFile, Repaired } from "../state/file/offline.ts";
import type { Recovered } from "../state/file/recovery.ts";

export interface StateView {
  readonly sums: readonly {
    readonly month: string;
    readonly key: string;
    /** A string when a number would not be exact. */
    readonly settled_nano_usd: NanoUsdJson;
    /** By calls that were in flight; settled at their input estimate when a gateway starts. */
    readonly reserved_nano_usd: number;
  }[];
  readonly conversations: number;
  readonly overrides: readonly { readonly key: string; readonly actor: string; readonly value: unknown }[];
  readonly audit_records: number;
  readonly rate_windows: number;
  readonly open_calls: readonly string[];
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly changes: number }[];
  readonly faults: readonly {
    readonly file: string;
    readonly offset: number;
    readonly reason: string;
    readonly lost: string;
  }[];
}

export function stateView({ tables, holds, files, faults }: Recovered): StateView {
  const sums = new Map<string, StateView["sums"][number]>();
  for (const { month, key } of tables.ledger.sums()) {
    const settled = tables.ledger.settled(key, month).toJSON();
    sums.set(`${month} ${key}`, { month, key, settled_nano_usd: settled, reserved_nano_usd: 0 });
  }
  for (const hold of holds) {
    for (const [key, estimateNanoUsd] of hold.sums) {
      const name = `${hold.month} ${key}`;
      const sum = sums.get(name) ?? { month: hold.month, key, settled_nano_usd: 0, reserved_nano_usd: 0 };
      sums.set(name, { ...sum, reserved_nano_usd: sum.reserved_nano_usd + estimateNanoUsd });
    }
  }
  return {
    sums: [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum),
    conversations: tables.sessions.size,
    overrides: tables.overrides.list().map(({ key, actor, value }) => ({ key, actor, value })),
    audit_records: tables.audit.size,
    rate_windows: tables.rates.size,
    open_calls: holds.map(({ callId }) => callId),
    files,
    faults: faults.map((fault) => {
      const { file, offset, reason } = fault;
      return { file, offset, reason, lost: lossText(fault) };
    }),
  };
}

export function shownText(view: StateView, isTerminal: boolean): string {
  const sums = view.sums.map((sum) => [
    sum.month,
    usd(sum.settled_nano_usd),
    usd(sum.reserved_nano_usd),
    sum.key,
  ]);
  const counts = [
    ["conversations", `${view.conversations}`],
    ["audit records", `${view.audit_records}`],
    ["rate windows", `${view.rate_windows}`],
    ["interrupted calls", `${view.open_calls.length}`],
  ];
  const overrides = view.overrides.map(({ key, actor, value }) => [
    key,
    JSON.stringify(value),
    `by ${actor}`,
  ]);
  const files = view.files.map(({ name, bytes, changes }) => [name, `${bytes} bytes`, `${changes} changes`]);
  const faults = view.faults.map(
    ({ file, offset, reason, lost }) => `${file}, byte ${offset}: ${reason}; ${lost}\n`,
  );
  return [
    sums.length === 0
      ? "no spend\n"
      : columns([["month", "settled_usd", "reserved_usd", "key"], ...sums], isTerminal),
    columns(counts, isTerminal),
    overrides.length === 0 ? "no overrides\n" : columns(overrides, isTerminal),
    columns(files, isTerminal),
    ...(faults.length === 0 ? [] : [faults.join("")]),
  ].join("\n");
}

export function checkedText(files: readonly CheckedFile[], isTerminal: boolean): string {
  const rows = files.flatMap(({ name, bytes, lines, faults }) => {
    const states = faults.length === 0 ? ["ok"] : faults.map(stateOf);
    return states.map((state) => [name, `${bytes} bytes`, `${lines} lines`, state]);
  });
  return columns(rows, isTerminal);
}

function stateOf(fault: Fault): string {
  return `${fault.kind} at byte ${fault.offset}: ${fault.reason}; ${lossText(fault)}`;
}

export function repairedText({ faults, snapshot, aside }: Repaired): string {
  const found = faults.map((fault) => `${faultText(fault)}\n`);
  const isRevocationLost = faults.some((fault) => fault.linesLost !== 0 && /o/.test(fault.kindsLost ?? "o"));
  return [
    ...found,
    `everything readable was written to ${snapshot}\n`,
    ...aside.map((name) => `the damaged file was renamed to ${name}\n`),
    ...(isRevocationLost
      ? ["A token revoked at run time may be valid again: check the overrides (sluice state show).\n"]
      : []),
  ].join("");
}

/** An aligned table on a terminal, otherwise fields separated by tabs. */
function columns(rows: readonly (readonly string[])[], isTerminal: boolean): string {
  if (!isTerminal) return rows.map((row) => `${row.join("\t")}\n`).join("");
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => {
      const cells = row.map((cell, column) =>
        column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0),
      );
      return `${cells.join("  ")}\n`;
    })
    .join("");
}

/** Every nano-dollar, exactly. */
function usd(nanoUsd: NanoUsdJson): string {
  const digits = `${nanoUsd}`.padStart(10, "0");
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
