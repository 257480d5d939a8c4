/** Checks of the machine that need no other one: Node's version, ports, file watching, the clock. */
import { statSync, watch } from "node:fs";
import { statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { systemClock } from "../../base/clock.ts";
import type { WatchList } from "../../config/load.ts";
import { guardedHttp } from "../../net/guarded.ts";
import { nodeAdvice } from "../node-version.ts";
import { durationText } from "../units.ts";
import { advised, codeOf, type Finding, finding, type Subject } from "./finding.ts";

export function checkNode(version: string): Finding {
  const advice = nodeAdvice(version);
  const found = finding("node", advice === undefined ? "ok" : "warning", "", version);
  return advice === undefined ? found : advised(found, advice);
}

export async function checkPorts({ config }: Subject): Promise<readonly Finding[]> {
  const { server, admin } = config;
  const listeners = [
    ["server", server.host, server.port],
    ...(admin.enabled ? ([["admin", admin.host, admin.port]] as const) : []),
  ] as const;
  return Promise.all(listeners.map(([name, host, port]) => checkPort(name, host, port)));
}

async function checkPort(name: string, host: string, port: number): Promise<Finding> {
  const subject = `${name} ${host}:${port}`;
  if (port === 0) return finding("ports", "ok", subject, "takes any free port");
  const code = await listenOn(host, port);
  if (code === "") return finding("ports", "ok", subject, "free");
  if (code === "EADDRINUSE") {
    if (await isGateway(host, port)) return finding("ports", "ok", subject, "in use by a running gateway");
    const found = finding("ports", "error", subject, "in use by another program");
    return advised(found, `end it, or change ${name}.port`);
  }
  if (code === "EACCES") {
    const found = finding("ports", "error", subject, "this user may not listen on it");
    return advised(found, `use a port from 1024 on, or allow it: setcap cap_net_bind_service=+ep on node`);
  }
  const message =
    code === "EADDRNOTAVAIL" || code === "ENOTFOUND"
      ? `${host} is not an address of this machine`
      : `cannot listen (${code})`;
  return advised(finding("ports", "error", subject, message), `change ${name}.host, such as to 127.0.0.1`);
}

/** "" when that works. */
function listenOn(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve(codeOf(error)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve("")));
  });
}

const ASK_TIMEOUT_MS = 2_000;

async function isGateway(host: string, port: number): Promise<boolean> {
  const address = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host;
  const http = guardedHttp({ clock: systemClock(), allow: ["0.0.0.0/0", "::/0"], proxyFor: () => undefined });
  try {
    const answer = await http.fetch(`http://${address}:${port}/readyz`, { timeoutMs: ASK_TIMEOUT_MS });
    return "text" in answer && /^\{"ready":(?:true|false)[,}]/.test(answer.text);
  } finally {
    http.close();
  }
}

/** By the magic number of `statfs`: events of changes that another machine makes do not arrive. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x517b, "SMB"],
  [0x01021997, "9P"],
  [0x65735546, "FUSE"],
  [0x00c36400, "Ceph"],
]);

const POLLED = "changes are found by a poll every 2 s instead";

export async function checkWatching({ config }: Subject, files: WatchList): Promise<readonly Finding[]> {
  if (!config.reload.watch)
    return [
      advised(
        finding("watching", "ok", "", "off (reload.watch is false)"),
        "load changes with `sluice reload`",
      ),
    ];
  const found: Finding[] = [];
  for (const folder of new Set(files.eventFolders ?? files.directories)) {
    const code = watchOnce(folder);
    if (code === "ENOSPC" || code === "EMFILE") {
      const one = finding(
        "watching",
        "warning",
        folder,
        `the system's limit of watches is reached; ${POLLED}`,
      );
      found.push(advised(one, "raise fs.inotify.max_user_watches and max_user_instances"));
    } else if (code !== "" && code !== "ENOENT")
      found.push(finding("watching", "warning", folder, `cannot be watched (${code}); ${POLLED}`));
    const type = await statfs(folder).then(
      ({ type: magic }) => NETWORK_FILE_SYSTEMS.get(magic),
      () => undefined,
    );
    if (type !== undefined)
      found.push(
        finding("watching", "warning", folder, `${type} tells of no changes made elsewhere; ${POLLED}`),
      );
  }
  return found.length > 0
    ? found
    : [finding("watching", "ok", "", "changed files are loaded when they are saved")];
}

/** "" when the folder can be watched. */
function watchOnce(folder: string): string {
  try {
    const watcher = watch(folder);
    watcher.on("error", () => undefined);
    watcher.close();
    return "";
  } catch (error) {
    return codeOf(error);
  }
}

/** No file can be from the future. Below this it is the file system's own clock. */
const FUTURE_MS = 60_000;
/** When this version was written: an earlier time is wrong. */
const OLDEST_MS = Date.UTC(2026, 0, 1);

/** `now`: Unix milliseconds of the machine. */
export function checkClock(files: WatchList, nowMs: number): Finding {
  const shown = new Date(nowMs).toISOString();
  const advice = "synchronize it (NTP): token expiry, rate windows and monthly budgets follow it";
  if (nowMs < OLDEST_MS) return advised(finding("clock", "error", "", `${shown} is in the past`), advice);
  const newestMs = Math.max(0, ...files.files.map(changedMs));
  if (newestMs - nowMs > FUTURE_MS) {
    const aheadText = durationText((newestMs - nowMs) / 1000);
    const message = `${shown} is ${aheadText} before the last change of the configuration's files`;
    return advised(finding("clock", "warning", "", message), advice);
  }
  return finding("clock", "ok", "", shown);
}

function changedMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
