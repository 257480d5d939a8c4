/** `given:` of a case as the state that the offline gateway begins with. */
import { parseUsd } from "../base/money.ts";
import { child, type PlainMap, type Spot } from "../config/read/tree.ts";
import type { Given, SubjectRef } from "../offline/given.ts";
import type { Message } from "../plugin/index.ts";
import { durationMs } from "./durations.ts";
import { type CallTarget, type Names, UnknownName } from "./names.ts";
import { listIn, mapIn, mapsIn } from "./read.ts";

/** A name of `given` that the configuration lacks, with its place. */
export interface GivenProblem {
  readonly error: UnknownName;
  readonly spot: Spot;
}

export interface ReadGiven {
  readonly given: Given;
  readonly problems: readonly GivenProblem[];
}

/** Names that are unknown are left out and told. */
export function readGiven(given: PlainMap, spot: Spot, names: Names): ReadGiven {
  const problems: GivenProblem[] = [];
  const each = <T>(key: string, read: (entry: PlainMap) => T, within = given, at = spot): readonly T[] =>
    mapsIn(within, key).flatMap(({ entry, index }) => {
      const list = listIn(within, key);
      const entrySpot = child(list, index, child(within, key, at));
      return attempt(
        () => read(entry),
        (error) => problems.push({ error, spot: problemSpot(entry, entrySpot, error) }),
      );
    });
  const named = <T>(section: string, key: string, read: (name: string) => T): readonly T[] => {
    const within = mapIn(given, section);
    const list = listIn(within, key);
    const listSpot = child(within, key, child(given, section, spot));
    return list.flatMap((name, index) =>
      attempt(
        () => read(String(name)),
        (error) => problems.push({ error, spot: child(list, index, listSpot) }),
      ),
    );
  };
  const session = given["session"] === undefined ? [] : [mapIn(given, "session")];
  return {
    problems,
    given: {
      spent: each("spent_usd", (entry) => ({
        subject: spenderOf(entry, names),
        nanoUsd: nanoUsd(entry["amount"]),
      })),
      calls: each("calls", (entry) => ({
        subject: subjectOf(names.target(entry, ["endpoint", "alias", "proxy"])),
        count: Number(entry["count"]),
        agoMs: durationMs(String(entry["ago"] ?? "0s")) ?? 0,
      })),
      revoked: named("tokens", "revoked", (name) => revokedToken(name, names)),
      overrides: each("overrides", (entry) => {
        const { project, name } = names.target(entry, ["endpoint", "proxy"]);
        return { project: project.uuid, endpoint: name, isActive: entry["is_active"] === true };
      }),
      openCircuits: named("circuits", "open", (target) => circuitsOf(target, names)).flat(),
      sessions: session.flatMap((entry) =>
        attempt(
          () => sessionOf(entry, names),
          (error) => problems.push({ error, spot: problemSpot(entry, child(given, "session", spot), error) }),
        ),
      ),
    },
  };
}

function attempt<T>(read: () => T, failed: (error: UnknownName) => void): readonly T[] {
  try {
    return [read()];
  } catch (thrown) {
    if (!(thrown instanceof UnknownName)) throw thrown;
    failed(thrown);
    return [];
  }
}

/** Of the key that names what is unknown, if the entry has it. */
function problemSpot(entry: PlainMap, spot: Spot, { key }: UnknownName): Spot {
  return Object.hasOwn(entry, key) ? child(entry, key, spot) : spot;
}

function subjectOf({ project, kind, name }: CallTarget): SubjectRef {
  // Tools are asked for nowhere in `given`.
  return { project: project.uuid, kind: kind === "tool" ? "endpoint" : kind, name };
}

function spenderOf(entry: PlainMap, names: Names): SubjectRef {
  const { token } = entry;
  if (typeof token !== "string") return subjectOf(names.target(entry, ["endpoint", "alias"]));
  const project = names.projectWithToken(entry["project"], token);
  return { project: project.uuid, kind: "token", name: names.token(project, token).id };
}

function nanoUsd(amount: unknown): number {
  return parseUsd(String(amount))?.nanoUsd ?? Math.round(Number(amount) * 1e9);
}

function revokedToken(name: string, names: Names): { readonly project: string; readonly token: string } {
  const project = names.projectWithToken(undefined, name);
  return { project: project.uuid, token: names.token(project, name).id };
}

/** In every project that has the credential. */
function circuitsOf(target: string, names: Names): NonNullable<Given["openCircuits"]> {
  const slash = target.indexOf("/");
  const credential = slash < 0 ? target : target.slice(0, slash);
  const model = slash < 0 ? undefined : target.slice(slash + 1);
  const projects = names.projectsWithCredential(credential);
  if (model !== undefined) names.checkModel(projects, credential, model);
  return projects.map(({ uuid: project }) => ({
    project,
    credential,
    ...(model === undefined ? {} : { model }),
  }));
}

function sessionOf(entry: PlainMap, names: Names): NonNullable<Given["sessions"]>[number] {
  const target = names.target(entry, ["endpoint"]);
  const token = names.tokenFor(target, entry["token"]);
  const messages = mapsIn(entry, "messages").map(
    ({ entry: message }): Message => ({
      role: message["role"] === "assistant" ? "assistant" : "user",
      content: String(message["content"]),
    }),
  );
  return { project: target.project.uuid, endpoint: target.name, token: token?.id ?? "", messages };
}
