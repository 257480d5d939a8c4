/** From the text of a source to the files of a configuration and the findings. Reads and writes no file. */
import { convertBifrost } from "./bifrost.ts";
import { BIFROST_ROWS } from "./bifrost-table.ts";
import { Draft } from "./draft.ts";
import { type Finding, Findings } from "./findings.ts";
import type { Job } from "./job.ts";
import { convertLitellm } from "./litellm.ts";
import { LITELLM_DEAD, LITELLM_ROWS } from "./litellm-table.ts";
import { Mapping } from "./mapping.ts";
import { convertPortkey, portkeyPattern } from "./portkey.ts";
import { PORTKEY_ROWS } from "./portkey-table.ts";
import { Secrets } from "./secrets.ts";
import { readSource, SourceError, type SourceNode } from "./source.ts";
import type { Product } from "./upstreams.ts";
import { configText } from "./write-config.ts";
import { testsText } from "./write-tests.ts";

interface ProductImport {
  readonly label: string;
  /** What such a file has at its top, for messages. */
  readonly sections: string;
  readonly mapping: Mapping;
  readonly convert: (job: Job, fileName: string) => void;
  readonly patternOf?: (node: SourceNode) => string;
}

export const PRODUCTS: Readonly<Record<Product, ProductImport>> = {
  litellm: {
    label: "LiteLLM",
    sections: "`model_list`",
    mapping: new Mapping("LiteLLM", LITELLM_ROWS, LITELLM_DEAD),
    convert: convertLitellm,
  },
  portkey: {
    label: "Portkey",
    sections: "`targets` or `provider`",
    mapping: new Mapping("Portkey", PORTKEY_ROWS),
    convert: convertPortkey,
    patternOf: portkeyPattern,
  },
  bifrost: {
    label: "Bifrost",
    sections: "`providers`",
    mapping: new Mapping("Bifrost", BIFROST_ROWS),
    convert: convertBifrost,
  },
};

export const CONFIG_FILE = "gateway.config.yaml";
export const TEST_FILE = "gateway.test.yaml";

export interface Imported {
  readonly findings: readonly Finding[];
  /** Text by name. */
  readonly files: Readonly<Record<typeof CONFIG_FILE | typeof TEST_FILE, string>>;
  readonly projectUuid: string;
  readonly aliases: number;
}

/** A file of another kind would be imported as one of which every key is dead. */
function checkProduct(
  { label, mapping, patternOf, sections }: ProductImport,
  file: string,
  root: SourceNode,
): void {
  const keys = root.isList ? root.items.flatMap((item) => item.entries) : root.entries;
  const spell = patternOf ?? (({ pattern }: SourceNode) => pattern);
  const isKnown = keys.some(
    ([, node]) => mapping.find(spell(node)) !== undefined || mapping.hasKeysBelow(spell(node)),
  );
  if (!isKnown) throw new SourceError(`${file} has none of the keys of ${label}, such as ${sections}`);
}

/** Throws a SourceError when the text is not what the product reads. `file` is how findings name it. */
export function convert(product: Product, file: string, text: string): Imported {
  const { label, mapping, convert: run, patternOf = ({ pattern }) => pattern } = PRODUCTS[product];
  const source = readSource(file, text);
  checkProduct(PRODUCTS[product], file, source.root);
  const secrets = new Secrets(source.root);
  const findings = new Findings(mapping, secrets.scrub, patternOf);
  const draft = new Draft(label, secrets);
  const fileName = file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1);
  for (const node of source.repeated) {
    findings.add(node, {
      level: "no effect",
      target: null,
      message: "The key is defined again below, and only the last definition counts.",
    });
  }
  run({ root: source.root, draft, findings, secrets }, fileName);
  draft.placeComments(source);
  const shown = secrets.scrub(fileName);
  const { text: config, projectUuid } = configText(draft, [
    `Imported from ${label}'s ${shown} by \`sluice import ${product}\`.`,
  ]);
  const tests = testsText(draft, [`What each model name of ${shown} reaches. Run it with \`sluice test\`.`]);
  return {
    findings: findings.complete(source.root),
    files: { [CONFIG_FILE]: config, [TEST_FILE]: tests },
    projectUuid,
    aliases: draft.aliases.size,
  };
}
