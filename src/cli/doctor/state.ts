/** Where the state is kept: the folder of the file store, or Redis. Changes nothing that a gateway would see. */
import { access, constants, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { checkFolder } from "../../state/file/folder-check.ts";
import { folderHolder } from "../../state/file/folder-lock.ts";
import { redisAddress } from "../../state/redis/address.ts";
import { examineRedis } from "../../state/redis/examine.ts";
import { bytesText, durationText } from "../units.ts";
import { advised, codeOf, type Finding, finding, type Subject } from "./finding.ts";

/** Below the first the store cannot work, below the second it may soon not. */
const SPACE_BYTES_MIN = 64_000_000;
const SPACE_BYTES_LOW = 1_000_000_000;

/** `isRunning`: a gateway listens on the ports of this configuration, so it is what holds the folder. */
export async function checkState({ io, config }: Subject, isRunning: boolean): Promise<readonly Finding[]> {
  const { driver, directory, url } = config.state;
  if (driver === "memory") {
    const found = finding("state", "ok", "memory", "nothing outlives a restart");
    return [advised(found, "set state.driver to file on one machine, or to redis for several replicas")];
  }
  if (driver === "redis" && redisAddress(url) === undefined)
    return [finding("state", "skipped", "redis", "its address refers to a secret that is missing")];
  if (driver === "redis") return checkRedis(url);
  if (driver === "file") return checkStateFolder(resolve(io.cwd, directory), isRunning);
  return [
    finding("state", "skipped", driver, "the store of a plugin, which is set up by `sluice start` only"),
  ];
}

export async function checkStateFolder(folder: string, isRunning: boolean): Promise<readonly Finding[]> {
  const change = "set state.directory to a folder that this user may write to";
  const info = await stat(folder).catch((error: unknown) => codeOf(error));
  if (info === "ENOENT")
    return [...(await checkParent(folder, change)), ...(await checkSpace(dirname(folder)))];
  if (typeof info === "string")
    return [advised(finding("state", "error", folder, `cannot be looked at (${info})`), change)];
  if (!info.isDirectory()) return [advised(finding("state", "error", folder, "is not a folder"), change)];
  const code = await writeProbe(folder);
  if (code !== "") return [advised(finding("state", "error", folder, `cannot be written (${code})`), change)];
  return [
    finding("state", "ok", folder, "can be written"),
    ...(await checkLock(folder, isRunning)),
    ...(await checkOwner(folder)),
    ...(await checkSpace(folder)),
  ];
}

/** A folder that is not there yet is made at the start. */
async function checkParent(folder: string, change: string): Promise<readonly Finding[]> {
  let parent = dirname(folder);
  for (;;) {
    const code = await access(parent, constants.W_OK | constants.X_OK).then(() => "", codeOf);
    if (code === "") return [finding("state", "ok", folder, "is created at the start")];
    if (code !== "ENOENT" || dirname(parent) === parent)
      return [
        advised(finding("state", "error", folder, `cannot be created below ${parent} (${code})`), change),
      ];
    parent = dirname(parent);
  }
}

/** "" when a file can be made in it. Its name means nothing to the store. */
async function writeProbe(folder: string): Promise<string> {
  const file = join(folder, `.doctor-${process.pid}`);
  try {
    await writeFile(file, "sluice doctor\n", { mode: 0o600, flag: "wx", flush: true });
    return "";
  } catch (error) {
    return codeOf(error);
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
}

async function checkLock(folder: string, isRunning: boolean): Promise<readonly Finding[]> {
  const pid = await folderHolder(folder);
  if (pid === undefined) return [finding("state", "ok", "lock", "no process has the folder")];
  const message = `process ${pid} has the folder`;
  if (isRunning) return [finding("state", "ok", "lock", `${message}: the running gateway`)];
  const advice = "end that process, or give this gateway a state.directory of its own";
  return [advised(finding("state", "error", "lock", message), advice)];
}

async function checkOwner(folder: string): Promise<readonly Finding[]> {
  try {
    const warnings = await checkFolder(folder);
    if (warnings.length === 0) return [finding("state", "ok", "owner and mode", "nobody else can read it")];
    return warnings.map((warning) => {
      const [message = "", advice] = warning.split(": ");
      const found = finding("state", "warning", "owner and mode", message);
      return advice === undefined
        ? advised(found, `chown it to user ${process.getuid?.()}`)
        : advised(found, advice);
    });
  } catch (error) {
    return [
      finding("state", "error", "owner and mode", error instanceof Error ? error.message : String(error)),
    ];
  }
}

async function checkSpace(folder: string): Promise<readonly Finding[]> {
  const free = await statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  );
  if (free === undefined) return [];
  const message = `${bytesText(free)} free`;
  const advice = "free some, or set state.directory to a larger disk";
  if (free < SPACE_BYTES_MIN) return [advised(finding("state", "error", "space", message), advice)];
  if (free < SPACE_BYTES_LOW) return [advised(finding("state", "warning", "space", message), advice)];
  return [finding("state", "ok", "space", message)];
}

/** Redis 5 has what the scripts need; every Valkey calls itself compatible with 7. */
const REDIS_MAJOR_MIN = 5;
/** Replicas with other clocks disagree on months and expiry. */
const SKEW_MS = 5_000;

async function checkRedis(url: string): Promise<readonly Finding[]> {
  const advice = "check state.url, its password and the network, and that the server runs";
  const seen = await examineRedis(url).catch((error: unknown) =>
    error instanceof Error ? error.message : String(error),
  );
  if (typeof seen === "string") return [advised(finding("state", "error", "redis", seen), advice)];
  const { server, version, major, policy, isBounded, aheadMs } = seen;
  return [
    finding("state", "ok", "redis", `${server} answers`),
    major < REDIS_MAJOR_MIN
      ? advised(
          finding("state", "error", "version", `${version} is too old`),
          "use Redis 5 or newer, or Valkey",
        )
      : finding("state", "ok", "version", version),
    isBounded && policy !== "noeviction"
      ? advised(
          finding("state", "warning", "eviction", `maxmemory-policy is ${policy}: budgets may be forgotten`),
          "CONFIG SET maxmemory-policy noeviction",
        )
      : finding("state", "ok", "eviction", isBounded ? policy : `${policy}, memory is not limited`),
    Math.abs(aheadMs) > SKEW_MS
      ? advised(
          finding(
            "clock",
            "warning",
            "redis",
            `differs by ${durationText(Math.abs(aheadMs) / 1000)} from here`,
          ),
          "synchronize both machines (NTP)",
        )
      : finding("clock", "ok", "redis", "agrees with this machine"),
  ];
}
