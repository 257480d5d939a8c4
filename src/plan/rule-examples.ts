/**
 * An example of each rule, and a near miss that is another one. Data alone: docs/plan-rules.md prints them, and a test plans
 * each in both directions. Fragments are keys of the configuration, or else of its project; `sha256:a…` stands for a hash.
 */
import type { RuleId } from "./rules.ts";

export interface RuleExample {
  readonly before: string;
  readonly after: string;
  readonly rules: readonly RuleId[];
  /** Of the change from `after` to `before`. */
  readonly reverse: readonly RuleId[];
}

export interface Illustrated {
  readonly example: RuleExample;
  readonly nearMiss: RuleExample & {
    /** Why it is another rule. */
    readonly because: string;
  };
}

export const RULE_EXAMPLES: Readonly<Record<RuleId, Illustrated>> = {
  P101: {
    example: {
      before: "endpoints:\n  - { name: Summarise }\n  - { name: Triage }",
      after: "endpoints:\n  - { name: Summarise }",
      rules: ["P101"],
      reverse: ["P502"],
    },
    nearMiss: {
      before: "endpoints:\n  - { name: Triage, slug: triage }",
      after: "endpoints:\n  - { name: Triage of tickets, slug: triage }",
      rules: ["P501"],
      reverse: ["P501"],
      because: "clients call it by its slug, which is the same",
    },
  },
  P102: {
    example: {
      before: "type: ai_gateway",
      after: "type: ai_wrapper",
      rules: ["P102"],
      reverse: ["P102"],
    },
    nearMiss: {
      before: "name: Support",
      after: "name: Customer support",
      rules: ["P501"],
      reverse: ["P501"],
      because: "clients call the project by its uuid",
    },
  },
  P104: {
    example: {
      before: 'tokens:\n  - { id: 7, name: web, hash: "sha256:a…" }',
      after: 'tokens:\n  - { id: 7, name: web, hash: "sha256:b…" }',
      rules: ["P104"],
      reverse: ["P104"],
    },
    nearMiss: {
      before: 'tokens:\n  - { id: 7, name: web, hash: "sha256:a…" }',
      after: 'tokens:\n  - { id: 7, name: website, hash: "sha256:a…" }',
      rules: ["P501"],
      reverse: ["P501"],
      because: "the token is the same under another name",
    },
  },
  P105: {
    example: {
      before: 'tokens:\n  - { id: 7, hash: "sha256:a…", scopes: [chat, mcp] }',
      after: 'tokens:\n  - { id: 7, hash: "sha256:a…", scopes: [chat] }',
      rules: ["P105"],
      reverse: ["P202"],
    },
    nearMiss: {
      before: 'tokens:\n  - { id: 7, hash: "sha256:a…", scopes: [chat, mcp] }',
      after: 'tokens:\n  - { id: 7, hash: "sha256:a…", scopes: [mcp, chat] }',
      rules: ["P501"],
      reverse: ["P501"],
      because: "the order of scopes has no meaning",
    },
  },
  P106: {
    example: {
      before: "endpoints:\n  - name: Triage\n    input_schema: { type: object, required: [message] }",
      after: "endpoints:\n  - name: Triage\n    input_schema: { type: object, required: [message, ticket] }",
      rules: ["P106"],
      reverse: ["P201"],
    },
    nearMiss: {
      before: "endpoints:\n  - name: Triage\n    input_schema: { type: object, required: [message] }",
      after:
        "endpoints:\n  - name: Triage\n    input_schema: { type: object, required: [message], title: A ticket }",
      rules: ["P501"],
      reverse: ["P501"],
      because: "a title refuses no document",
    },
  },
  P107: {
    example: {
      before: "endpoints:\n  - { name: Triage, rate_limit_per_minute: 60 }",
      after: "endpoints:\n  - { name: Triage, rate_limit_per_minute: 30 }",
      rules: ["P107"],
      reverse: ["P202"],
    },
    nearMiss: {
      before: "endpoints:\n  - { name: Triage, session_ttl_seconds: 3600 }",
      after: "endpoints:\n  - { name: Triage, session_ttl_seconds: 600 }",
      rules: ["P501"],
      reverse: ["P501"],
      because: "the endpoint keeps no sessions",
    },
  },
  P201: {
    example: {
      before: "endpoints:\n  - name: Triage\n    guardrails: [{ use: pii, mode: block }]",
      after: "endpoints:\n  - name: Triage\n    guardrails: [{ use: pii, mode: mask }]",
      rules: ["P201"],
      reverse: ["P107"],
    },
    nearMiss: {
      before: "endpoints:\n  - name: Triage\n    guardrails: [{ use: pii }, { use: secrets }]",
      after: "endpoints:\n  - name: Triage\n    guardrails: [{ use: secrets }, { use: pii }]",
      rules: ["P401"],
      reverse: ["P401"],
      because: "neither masks, so that both see what they saw; which one refuses first may differ",
    },
  },
  P202: {
    example: {
      before: "endpoints:\n  - { name: Triage, rate_limit_per_hour: 1000 }",
      after: "endpoints:\n  - { name: Triage, rate_limit_per_hour: null }",
      rules: ["P202"],
      reverse: ["P107"],
    },
    nearMiss: {
      before: "log: { content: full }",
      after: "log: { content: redacted }",
      rules: ["P401"],
      reverse: ["P202"],
      because: "less is logged",
    },
  },
  P203: {
    example: {
      before: 'webhooks:\n  - { name: siem, url: "https://siem.example/hook", secret: "${env:SECRET}" }',
      after: 'webhooks:\n  - { name: siem, url: "https://other.example/hook", secret: "${env:SECRET}" }',
      rules: ["P203"],
      reverse: ["P203"],
    },
    nearMiss: {
      before: 'webhooks:\n  - { name: siem, url: "https://siem.example/hook", secret: "${env:SECRET}" }',
      after: 'webhooks:\n  - { name: siem, url: "https://siem.example/events", secret: "${env:SECRET}" }',
      rules: ["P401"],
      reverse: ["P401"],
      because: "the host is the same",
    },
  },
  P301: {
    example: {
      before: "endpoints:\n  - { name: Triage, model: gpt-5-mini }",
      after: "endpoints:\n  - { name: Triage, model: gpt-5 }",
      rules: ["P301"],
      reverse: ["P401"],
    },
    nearMiss: {
      before: "endpoints:\n  - { name: Triage, model: gpt-5-mini }",
      after: "endpoints:\n  - { name: Triage, model: gpt-5-nano }",
      rules: ["P401"],
      reverse: ["P301"],
      because: "a call costs less",
    },
  },
  P401: {
    example: {
      before: "endpoints:\n  - { name: Triage, prompt: Be brief. }",
      after: "endpoints:\n  - { name: Triage, prompt: Be friendly. }",
      rules: ["P401"],
      reverse: ["P401"],
    },
    nearMiss: {
      before: "endpoints:\n  - { name: Triage, description: Sorts tickets. }",
      after: "endpoints:\n  - { name: Triage, description: Sorts support tickets. }",
      rules: ["P501"],
      reverse: ["P501"],
      because: "no model is sent the description",
    },
  },
  P402: {
    example: {
      before: "endpoints:\n  - { name: Triage }",
      after: "endpoints:\n  - name: Triage\n    guardrails: [{ use: pii, mode: mask }]",
      rules: ["P402"],
      reverse: ["P201"],
    },
    nearMiss: {
      before: "endpoints:\n  - { name: Triage }",
      after: "endpoints:\n  - name: Triage\n    guardrails: [{ use: pii, mode: block }]",
      rules: ["P107"],
      reverse: ["P201"],
      because: "it refuses calls that were answered",
    },
  },
  P501: {
    example: {
      before:
        "provider_templates:\n  - { name: fast, provider: openai, model: gpt-5-mini, credential: main }",
      after: "provider_templates:\n  - { name: fast, provider: openai, model: gpt-5, credential: main }",
      rules: ["P501"],
      reverse: ["P501"],
    },
    nearMiss: {
      before:
        "provider_templates:\n  - { name: fast, provider: openai, model: gpt-5-mini, credential: main }\nendpoints:\n  - { name: Triage, provider_template: fast }",
      after:
        "provider_templates:\n  - { name: fast, provider: openai, model: gpt-5, credential: main }\nendpoints:\n  - { name: Triage, provider_template: fast }",
      rules: ["P301"],
      reverse: ["P401"],
      because: "the template is in use",
    },
  },
  P502: {
    example: {
      before: "endpoints:\n  - { name: Triage, is_active: false }",
      after: "endpoints:\n  - { name: Triage, is_active: true }",
      rules: ["P502"],
      reverse: ["P101"],
    },
    nearMiss: {
      before: 'tokens:\n  - { id: 7, hash: "sha256:a…", is_active: false }',
      after: 'tokens:\n  - { id: 7, hash: "sha256:a…", is_active: true }',
      rules: ["P202"],
      reverse: ["P104"],
      because: "its bearer is admitted",
    },
  },
  P601: {
    example: {
      before: "server: { port: 8080 }",
      after: "server: { port: 9090 }",
      rules: ["P601"],
      reverse: ["P601"],
    },
    nearMiss: {
      before: "server: { host: 127.0.0.1 }",
      after: "server: { host: 0.0.0.0 }",
      rules: ["P202"],
      reverse: ["P601"],
      because: "more machines can connect",
    },
  },
};
