/** What providers' errors come to, as the public door says it. */
export {
  errorWithin,
  mayMoveOn,
  retryAfter,
  shortReason,
  statusFailed,
  unusable,
  wholeSeconds,
} from "sluice/plugin";
