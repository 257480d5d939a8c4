/** `sluice/testing`: what tests of plugins need, and the gateway's own tests use. */

export { type VirtualClock, virtualClock } from "../base/virtual-clock.ts";
export {
  cutAnswer,
  type FakeUpstream,
  fakeUpstream,
  garbageAnswer,
  type HandPlayedStream,
  handPlayedStream,
  hangUpAnswer,
  jsonAnswer,
  openAiAnswer,
  openAiEvents,
  type ScriptedAnswer,
  sseAnswer,
  stallAnswer,
  statusAnswer,
  type UpstreamRequest,
} from "./fake-upstream.ts";
export {
  type BlockCase,
  type GuardrailCases,
  guardrailChecks,
  type MaskCase,
  type PassCase,
  testGuardrail,
} from "./guardrail-tester.ts";
export type { PluginCheck } from "./plugin-checks.ts";
export { type ProviderCases, providerChecks, type RecordedAnswer, testProvider } from "./provider-tester.ts";
export { type StageCases, type StageRefusal, stageChecks, testStage } from "./stage-tester.ts";
export { type MakeStore, storeConformance } from "./store-conformance.ts";
export { type Logged, type TestHost, type TestHostOptions, testExchange, testHost } from "./test-host.ts";
