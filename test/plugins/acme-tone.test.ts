/** The worked example of a guardrail, tested as a stranger would test it. */
import { testGuardrail } from "sluice/testing";
import acmeTone from "../../examples/plugins/acme-tone.ts";

testGuardrail(acmeTone, {
  pass: [
    "What an idiotic idiom.",
    "Blockheaded? Never.",
    "A semiidiot is no word at all, as everybody knows.",
    "This damn thing sucks.",
    "",
  ],
  block: [
    {
      text: "You IDIOTS!",
      message: "Request blocked: please mind the tone.",
      answerMessage: "Response blocked: please mind the tone.",
    },
    "such a nitwit",
    { text: "As the tool says: moron.", role: "tool" },
  ],
});

testGuardrail(acmeTone, {
  options: { strictness: "high" },
  pass: ["The damning evidence is in."],
  block: ["This damn thing.", "It sucks"],
});
