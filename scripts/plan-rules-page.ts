// docs/plan-rules.md: every rule of `sluice plan` with an example and a near miss, from src/plan.
import { RULE_EXAMPLES, type RuleExample } from "../src/plan/rule-examples.ts";
import { RISKS, RULES, type RuleId } from "../src/plan/rules.ts";

const RISK_TEXTS: Readonly<Record<(typeof RISKS)[number], string>> = {
  breaking: "a call that works today will fail",
  weakens: "a protection does less",
  money: "more can be spent, or a call costs more",
  behavior: "answers may differ",
  safe: "none of these",
};

export function planRulesPage(written: string): string {
  // Keys of RULES are ids.
  const ids = Object.keys(RULES) as RuleId[];
  const risks = RISKS.map((risk) => `- **${risk}**: ${RISK_TEXTS[risk]}`);
  const rows = ids.map((id) => `| [${id}](#${anchor(id)}) | ${RULES[id].title} | ${RULES[id].risk} |`);
  return `${written}

# Rules of sluice plan

\`sluice plan\` puts every difference between two configurations under one rule, which has a risk. Highest first:

${risks.join("\n")}

Directions are computed. A guardrail that is off is weaker than one in shadow mode, that one weaker than one that masks, and that
one weaker than one that blocks. Kinds, keywords, scopes, methods, events, hosts and CIDR blocks are compared as sets; limits and
budgets as numbers, \`null\` being no limit; input schemas by whether every document that was accepted still is. Where a change
goes both ways, or nobody can tell which way it goes (a value that is a reference, or an option whose plugin does not declare
its \`strength\`), both rules apply. What several endpoints inherit from one line of \`endpoint_defaults\` is one change,
with the endpoints that it reaches. A change of something that is inactive or not in use is safe.

| Rule | Change | Risk |
|---|---|---|
${rows.join("\n")}

${ids.map(ruleSection).join("\n")}`;
}

const anchor = (id: RuleId): string =>
  `${id} ${RULES[id].title}`
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");

function ruleSection(id: RuleId): string {
  const { title, risk, description } = RULES[id];
  const { example, nearMiss } = RULE_EXAMPLES[id];
  const { because } = nearMiss;
  return `## ${id}: ${title}

Risk: **${risk}**. ${description}

${fragments(example)}

The opposite change is ${list(example.reverse)}. Not ${id} but ${list(nearMiss.rules)}, since ${because}:

${fragments(nearMiss)}
`;
}

const list = (rules: readonly RuleId[]): string => rules.join(" and ");

function fragments({ before, after }: RuleExample): string {
  const lines = [
    ...marked(before, after, "-"),
    ...marked(after, before, "+").filter((line) => line.startsWith("+")),
  ];
  return `\`\`\`diff\n${lines.join("\n")}\n\`\`\``;
}

/** Lines of a text, those that the other one lacks with a sign in front. */
function marked(text: string, other: string, sign: string): readonly string[] {
  const others = new Set(other.split("\n"));
  return text.split("\n").map((line) => `${others.has(line) ? " " : sign} ${line}`);
}
