/** LiteLLM's proxy configuration (`config.yaml`): one `ai_wrapper` project whose aliases are the model names. */

import type { Job } from "./job.ts";
import { convertExtras } from "./litellm-extras.ts";
import { convertModels, type NamedCredential } from "./litellm-models.ts";
import { convertSettings } from "./litellm-settings.ts";

export function convertLitellm(job: Job): void {
  const { root, draft, findings } = job;
  const credentials = namedCredentials(job);
  convertModels(job, credentials);
  convertSettings(job);
  convertExtras(job);
  const token = draft.token("clients");
  draft.anchor(root.get("general_settings")?.get("master_key"), token.notes);
  for (const { name, values } of credentials.values()) {
    const node = values?.get("api_key");
    if (node !== undefined && !findings.has(node))
      findings.add(node, {
        level: "unsupported",
        target: null,
        message: `No imported model uses \`${name}\`.`,
      });
  }
}

function namedCredentials({ root }: Job): ReadonlyMap<string, NamedCredential> {
  const found = new Map<string, NamedCredential>();
  for (const entry of root.get("credential_list")?.items ?? []) {
    const name = entry.get("credential_name")?.text;
    if (name !== undefined) found.set(name, { name, values: entry.get("credential_values") });
  }
  return found;
}
