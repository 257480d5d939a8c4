/** `sluice/testing`: what tests of plugins need, and the gateway's own tests use. */
export * from "./fake-upstream.ts";
export { type VirtualClock, virtualClock } from "./virtual-clock.ts";
