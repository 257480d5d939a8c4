/** `data:` URLs of images and files: taken apart in linear time, in any letter case, and left alone when they are no such thing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { imageWithin } from "../../providers/wire/dialogue.ts";
import { readBase64Url } from "../../src/plugin/content.ts";

test("the media type and the content are what is before and behind the first comma", () => {
  const read = (url: string) => Object.values(readBase64Url(url) ?? {});
  assert.deepEqual(read("data:image/png;base64,aGk="), ["image/png", "aGk="]);
  assert.deepEqual(read("DATA:image/png;charset=utf-8;BASE64,aGk="), ["image/png", "aGk="]);
  assert.deepEqual(read("data:;base64,a,b;base64,c"), ["", "a,b;base64,c"]);
  for (const other of [
    "https://example.com/a;base64,aGk=",
    "data:image/png,aGk=",
    "data:image/png;base64",
    "data:base64,aGk=",
    "data:image/png;base64;x,aGk=",
    `data:${"e".repeat(2000)};base64,aGk=`,
  ])
    assert.deepEqual(read(other), [], other.slice(0, 40));
  assert.equal(imageWithin("data:;base64,aGk="), undefined, "no provider takes one without a media type");
});

test("10 MB that look like the beginning of a data URL take linear time", () => {
  const started = performance.now();
  for (const url of [`data:${"e".repeat(10_000_000)};BASE64,aGk=`, `data:${";base64".repeat(1_400_000)}`]) {
    assert.equal(imageWithin(url), undefined);
  }
  // Before: 24 s for 100,000 characters, hours for these.
  assert.ok(performance.now() - started < 1_000, "quadratic again");
});
