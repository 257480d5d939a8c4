/** The schema of test files as editors want it: draft-07, with what a hover should tell in the descriptions. */
import { describedForEditors } from "../config/schema/editor-references.ts";
import { testFileSchema } from "./schema/file.ts";

export function testEditorSchema(): object {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Test cases of a Sluice configuration",
    ...describedForEditors(testFileSchema),
  };
}
