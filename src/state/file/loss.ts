/** Messages about damaged state files (where, what was lost), and whether a gateway may start with the rest. */
import { join } from "node:path";
import type { Logger } from "../../plugin/host.ts";
import type { Files } from "./files.ts";
import { type Fault, mayHoldMoneyOrRevocation } from "./line-chain.ts";
import { listFolder } from "./state-folder.ts";

const KIND_NAMES: Readonly<Record<string, string>> = {
  m: "spend",
  o: "overrides such as token revocations",
  s: "conversations",
  a: "audit records",
  r: "calls counted by rate limits",
};

/** Money or a revocation may be lost: an operator has to decide. */
class StateDamagedError extends Error {
  constructor(folder: string, faults: readonly Fault[]) {
    const places = faults.map((fault) => `  ${faultText(fault)}`).join("\n");
    super(
      `the state in ${folder} is damaged, and spend or a token revocation may be lost:\n${places}\n` +
        `Restore the folder from a backup, or run \`sluice state repair --directory ${folder}\` to keep everything that can still be read, then start again.`,
    );
  }
}

/** In one line: the file, the first bad byte, why, and what was lost. */
export function faultText(fault: Fault): string {
  return `${fault.file}, byte ${fault.offset}: ${fault.reason}; ${lossText(fault)}`;
}

/** What was lost, exactly as far as it can be told. */
export function lossText({ linesLost, kindsLost }: Fault): string {
  if (linesLost === 0) return "nothing is lost";
  const lines = linesLost === undefined ? "an unknown number of lines is lost" : linesOf(linesLost);
  if (kindsLost === undefined) return `${lines}, which may have held anything`;
  const names = [...kindsLost].flatMap((kind) => KIND_NAMES[kind] ?? []);
  return names.length === 0 ? "nothing is lost" : `${lines}: ${names.join(", ")}`;
}

function linesOf(count: number): string {
  return count === 1 ? "1 line is lost" : `${count} lines are lost`;
}

/** Throws a StateDamagedError when money or a revocation may be lost. */
export function refuseLoss(folder: string, faults: readonly Fault[]): void {
  const grave = faults.filter((fault) => fault.linesLost !== 0 && mayHoldMoneyOrRevocation(fault));
  if (grave.length > 0) throw new StateDamagedError(folder, grave);
}

/** Logs the faults and removes what a crash has left unfinished. */
export async function tidyFolder(
  { files, folder, log }: { readonly files: Files; readonly folder: string; readonly log: Logger },
  faults: readonly Fault[],
): Promise<void> {
  for (const fault of faults) {
    const place = { file: fault.file, offset: fault.offset, reason: fault.reason, lost: lossText(fault) };
    if (fault.kind === "torn")
      log.info(place, "the last change was not written completely when the process ended, and is removed");
    else log.error(place, `a state file is damaged: ${lossText(fault)}`);
  }
  try {
    for (const { file, offset, kind } of faults) {
      if (kind === "torn") await files.truncate(join(folder, file), offset);
      else if (file.startsWith("snapshot")) await setAside(files, folder, { file, offset, kind });
    }
    const { unfinished } = await listFolder(files, folder);
    for (const name of unfinished) await files.remove(join(folder, name));
  } catch (error) {
    log.error({ err: error }, "a state file could not be tidied up");
  }
}

/** Keeps a damaged file under another name, where no start reads it. Returns that name. */
export async function setAside(
  files: Files,
  folder: string,
  { file, offset, kind }: Pick<Fault, "file" | "offset" | "kind">,
): Promise<string> {
  const aside = `${file}.${kind}-${offset}`;
  await files.rename(join(folder, file), join(folder, aside));
  return aside;
}
