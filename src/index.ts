/** `sluice`: the library entry, for embedding the gateway in a program or a test. */
export type { Gateway, GatewayOptions, ReloadOutcome } from "./gateway/gateway.ts";
export { ConfigError, createGateway } from "./gateway/gateway.ts";
