/** `sluice/testing`: what tests of plugins need, and the gateway's own tests use. */
export * from "./fake-upstream.ts";
export {
  type BlockCase,
  type GuardrailCases,
  type GuardrailCheck,
  guardrailChecks,
  type MaskCase,
  type PassCase,
  testGuardrail,
} from "./guardrail-tester.ts";
export { type MakeStore, storeConformance } from "./store-conformance.ts";
export { type Logged, type TestHost, type TestHostOptions, testExchange, testHost } from "./test-host.ts";
export { type VirtualClock, virtualClock } from "./virtual-clock.ts";
