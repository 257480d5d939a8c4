/** The schema of a whole configuration: it validates YAML, is printed for editors, and is the reference in the docs. */
import type { FilledOf } from "../../plugin/schema-type.ts";
import {
  admin,
  controlPlane,
  log,
  network,
  plugins,
  providers,
  reload,
  server,
  state,
  telemetry,
} from "./gateway.ts";
import { includes, integer, list, section } from "./keywords.ts";
import { prices } from "./prices.ts";
import { project } from "./project.ts";

export const configSchema = section(
  "Configuration of a Sluice gateway.",
  {
    version: { ...integer("Layout of this file.", 1, 1, { examples: [1] }), enum: [1] } as const,
    include: includes("Files that are parts of this configuration.", "conf.d/*.yaml"),
    server,
    admin,
    state,
    reload,
    log,
    telemetry,
    network,
    plugins,
    providers,
    prices,
    control_plane: controlPlane,
    projects: list("Projects.", project, { maxItems: 10_000 }),
  },
  { required: ["version", "projects"] },
);

export type ConfigSchema = typeof configSchema;

/**
 * A configuration that has passed its schema and has its defaults, in the YAML's own values: amounts are numbers or
 * texts, references are names. `undefined`: required, and its absence reported.
 */
export type FilledConfig = FilledOf<typeof configSchema>;
