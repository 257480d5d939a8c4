/** The schema of a whole configuration: it validates YAML, is printed for editors, and is the reference in the docs. */
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
    version: { ...integer("Layout of this file.", 1, 1, { examples: [1] }), enum: [1] },
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
