/**
 * What a configuration says of objects that were renamed (`moved_from`), as the renames of the state store: which keys of
 * windows, sums, conversations and overrides become which. The store moves what is kept under them.
 */
import type { ProjectConfig, ResolvedConfig } from "../config/model.ts";
import type { Logger } from "../plugin/host.ts";
import type { StateStore } from "../plugin/index.ts";
import type { Rename, RenameEdit } from "../plugin/store.ts";

/** What the store keeps something under, and what that is named by. */
type Name = Pick<Rename, "kind" | "windowMs"> & { readonly name: string };

/** An endpoint, alias or proxy endpoint. */
interface Renamable {
  readonly name: string;
  readonly movedFrom: string | null;
  /** Everything that is kept under a name of its kind. */
  readonly names: (name: string) => readonly Name[];
}

/** More of them are logged as a number. */
const LOGGED_MAX = 20;

/** The stages limit and budget make these keys of the subject that they are given. */
function countedNames(subject: string): readonly Name[] {
  return [
    { kind: "rate", windowMs: 60_000, name: `rate:${subject}:minute` },
    { kind: "rate", windowMs: 3_600_000, name: `rate:${subject}:hour` },
  ];
}

function renamables({ uuid, endpoints, aliases, proxy_endpoints: proxies }: ProjectConfig): Renamable[] {
  const ofModel = (name: string): readonly Name[] => [
    ...countedNames(`${uuid}/${name}`),
    { kind: "spend", name: `spend:${uuid}/${name}` },
  ];
  const switchOf = (name: string): Name => ({ kind: "override", name: `endpoint:${uuid}/${name}` });
  return [
    ...endpoints.map(({ slug: name, moved_from: movedFrom }) => ({
      ...{ name, movedFrom },
      names: (one: string) => [
        ...ofModel(one),
        { kind: "sessions" as const, name: `${uuid}/${one}` },
        switchOf(one),
      ],
    })),
    ...aliases.map(({ alias: name, moved_from: movedFrom }) => ({ name, movedFrom, names: ofModel })),
    ...proxies.map(({ slug: name, moved_from: movedFrom }) => ({
      ...{ name, movedFrom },
      names: (one: string) => [...countedNames(`${uuid}/proxy/${one}`), switchOf(one)],
    })),
  ];
}

interface Moved {
  readonly project: string;
  readonly from: string;
  readonly to: string;
  readonly renames: readonly Rename[];
}

function movedIn({ projects }: ResolvedConfig): readonly Moved[] {
  return projects.flatMap((project) =>
    renamables(project).flatMap(({ name: to, movedFrom: from, names }) => {
      if (from === null) return [];
      const present = names(to);
      const renames = names(from).map(({ name, ...kind }, at) => ({
        ...kind,
        from: name,
        to: present[at]?.name ?? name,
      }));
      return [{ project: project.uuid, from, to, renames }];
    }),
  );
}

/**
 * Before a configuration is used: what is kept under old names moves, once, and calls that still use an old name count
 * under the new one from then on.
 */
export async function renameState(
  store: Pick<StateStore, "driver" | "rename">,
  config: ResolvedConfig,
  log: Logger,
): Promise<void> {
  const moved = movedIn(config);
  const rename = store.rename?.bind(store);
  if (rename === undefined) {
    if (moved.length > 0)
      log.warn(
        { driver: store.driver, renamed: moved.length },
        "the state store cannot move state: what was renamed begins with empty budgets, rate windows and conversations; its overrides hold as long as `moved_from` stands",
      );
    return;
  }
  const wanted = moved.flatMap(({ renames }) => renames);
  const standing = await rename({ begin: [], end: [] });
  const edit = standing === undefined ? { begin: wanted, end: [] } : editOf(config, wanted, standing);
  if (edit.begin.length + edit.end.length === 0) return;
  const done = await rename(edit);
  if (done === undefined && wanted.length > 0)
    log.warn(
      { renamed: moved.length },
      "the state store is lost: state of what was renamed moves when it is back",
    );
  else logMoved(moved, edit, log);
}

function logMoved(moved: readonly Moved[], { begin }: RenameEdit, log: Logger): void {
  const begun = new Set(begin);
  const now = moved.filter(({ renames }) => renames.some((rename) => begun.has(rename)));
  for (const { project, from, to } of now.slice(0, LOGGED_MAX))
    log.info({ project, from, to }, "renamed: spend, rate windows, conversations and overrides move");
  if (now.length > LOGGED_MAX) log.info({ renamed: now.length }, "renamed: state of all of them moves");
}

/**
 * What has to be done so that `wanted` stands. Renames that other configurations have left stand as long as they are of
 * use: to replicas that still run one, and to a configuration that is taken back, which makes its name the present one.
 */
export function editOf(
  config: ResolvedConfig,
  wanted: readonly Rename[],
  standing: readonly Rename[],
): RenameEdit {
  const known = new Map(standing.map((rename) => [keyOf(rename, rename.from), rename.to]));
  const begin = wanted.filter((rename) => known.get(keyOf(rename, rename.from)) !== rename.to);
  const asked = new Set(wanted.map((rename) => keyOf(rename, rename.from)));
  const others = standing.filter((rename) => !asked.has(keyOf(rename, rename.from)));
  if (others.length === 0) return { begin, end: [] };
  const names = new Set(
    config.projects.flatMap((project) =>
      renamables(project).flatMap((one) => one.names(one.name).map((name) => keyOf(name, name.name))),
    ),
  );
  const end: Rename[] = [];
  const back: Rename[] = [];
  for (const rename of others) {
    const [hasOld, hasNew] = [rename.from, rename.to].map((name) => names.has(keyOf(rename, name)));
    if (hasOld === hasNew) end.push(rename);
    else if (hasOld) back.push({ ...rename, from: rename.to, to: rename.from });
  }
  return { begin: [...begin, ...back], end };
}

function keyOf({ kind, windowMs = 0 }: Pick<Rename, "kind" | "windowMs">, name: string): string {
  return `${kind} ${windowMs} ${name}`;
}
