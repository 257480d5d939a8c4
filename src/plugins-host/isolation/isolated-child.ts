/** What the process of an isolated guardrail runs: the part of the gateway that loads plugins, and nothing else of it. */

import { compiled } from "../host.ts";
import { loadModule } from "../plugin-module.ts";
import { serveGuardrail } from "./child.ts";

serveGuardrail({
  plugins: async (module) =>
    module === undefined ? (await import("../builtin.ts")).BUILT_IN : loadModule(module),
  schemas: { compile: compiled },
});
