/** Reads JSON of which nothing is certain, as the public door does. */
export type { Json } from "sluice/plugin";
export { count, firstOf, hasItems, isPresent, parsed, record, records, textOf } from "sluice/plugin";
