/** What every plugin must be, whatever its kind: shape, name, schema, and examples that the schema accepts. */
import assert from "node:assert/strict";
import { compileSchema } from "../base/json-schema.ts";
import type { PluginBase } from "../plugin/contract.ts";
import type { MaybePromise } from "../plugin/maybe-promise.ts";
import { pluginFault } from "../plugins-host/plugin-shape.ts";
import type { TestHost } from "./test-host.ts";

/**
 * One check, for any test runner. `run` throws an AssertionError that says what was expected of what.
 * @since 0.2.0
 */
export interface PluginCheck {
  readonly name: string;
  run(): Promise<void>;
}

interface SetUp extends PluginBase {
  readonly kind: string;
  setup(options: never, host: never): MaybePromise<object>;
}

/** Fails with the error that the gateway would show at load; sets the plugin up with each example. */
export async function checkPluginShape(
  plugin: SetUp,
  expected: { readonly kind: string; readonly options: unknown; readonly host: TestHost },
): Promise<void> {
  assert.equal(pluginFault(plugin), undefined);
  assert.equal(plugin.kind, expected.kind, `it is a ${plugin.kind}`);
  const compiled = compileSchema(plugin.schema);
  assert.ok(compiled.ok, compiled.ok ? "" : `its schema does not compile: ${compiled.message}`);
  assert.deepEqual(compiled.check(expected.options), undefined, "`options` is not what its schema accepts");
  for (const example of plugin.examples) {
    // `pluginFault` has checked the examples against the schema, which is what these types stand for.
    const made = await plugin.setup(example as never, expected.host as never);
    if ("close" in made && typeof made.close === "function") await made.close();
  }
}
