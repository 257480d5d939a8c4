/** Keys of endpoints and aliases that are more than one value: the choice of models, and lists of plugins in use. */
import { byNumber } from "../directions/direction.ts";
import { always, directed, type Field, unknownKey } from "./field.ts";

export const choice: Field = always("P401");

export const outputTokens: Field = directed(byNumber, {
  ...{ stricter: "P107", weaker: "P301" },
  whenStricter: "longer answers are cut off",
  whenWeaker: "answers may be longer and cost more",
});

export const ownPrice: Field = directed(byNumber, {
  ...{ stricter: "P301", weaker: "P401" },
  whenStricter: "the same calls use up less of their budgets",
  whenWeaker: "budgets end sooner",
});

export const stageList: Field = unknownKey;
