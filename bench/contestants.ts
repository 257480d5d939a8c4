/** What is measured: the gateway, compiled, and the bare proxies it is compared with. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Credential, gatewayConfig } from "./gateway-config.ts";
import { benchFile, type Lab, type TargetPlan } from "./lab.ts";

const gatewayProgram = fileURLToPath(new URL("../dist/main.js", import.meta.url));

export interface GatewaySetup {
  readonly name: string;
  /** Name to place, or to the base URL of an OpenAI. */
  readonly credentials: Record<string, string | Credential>;
  readonly endpoints: readonly Record<string, unknown>[];
  /** Section `state`. Default: memory. */
  readonly state?: Record<string, unknown>;
  /** Default: none. */
  readonly webhooks?: readonly Record<string, unknown>[];
  readonly probe: Buffer;
}

/** The gateway with a configuration of its own. */
export function gateway(lab: Lab, setup: GatewaySetup): TargetPlan {
  return {
    name: setup.name,
    probe: setup.probe,
    launch(port) {
      if (!existsSync(gatewayProgram)) throw new Error("the gateway is not built: npm run build");
      const file = join(lab.folder, "gateway.config.yaml");
      writeFileSync(file, JSON.stringify(gatewayConfig(port, setup.credentials, setup)));
      return { args: [gatewayProgram, "start", "--config", file] };
    },
  };
}

/** A bare proxy: `request` or `dispatch`, after the undici call it is made of. */
export function bareProxy(kind: "request" | "dispatch", upstream: string, probe: Buffer): TargetPlan {
  return {
    name: `${kind} proxy`,
    probe,
    launch: () => ({ args: [benchFile(`proxies/${kind}.mjs`)], env: { UPSTREAM: upstream } }),
  };
}
