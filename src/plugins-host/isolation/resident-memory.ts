/** The memory of another process, as the operating system reports it. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";

const PS_TIMEOUT_MS = 2000;

/** Resident and swapped bytes; undefined: the process has ended, or this system does not tell. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  if (process.platform === "win32") return undefined;
  return process.platform === "linux" ? residentOnLinux(pid) : residentByPs(pid);
}

async function residentOnLinux(pid: number): Promise<number | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "latin1");
    const kilobytes = [...status.matchAll(/^Vm(?:RSS|Swap):[\t ]+(\d+) kB$/gm)].map(([, size]) =>
      Number(size),
    );
    return kilobytes.length === 0 ? undefined : kilobytes.reduce((sum, size) => sum + size, 0) * 1024;
  } catch {
    return undefined;
  }
}

function residentByPs(pid: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    execFile("ps", ["-o", "rss=", "-p", String(pid)], { timeout: PS_TIMEOUT_MS }, (error, stdout) => {
      const kilobytes = Number.parseInt(stdout, 10);
      resolve(error !== null || Number.isNaN(kilobytes) ? undefined : kilobytes * 1024);
    });
  });
}
