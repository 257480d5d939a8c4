/** The clock that stands still, for tests of plugins. */
export { type VirtualClock, virtualClock } from "../base/virtual-clock.ts";
