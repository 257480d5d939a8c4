/** keyword_blocklist: which texts hold a keyword, whatever their case, Unicode form and script. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import keywordBlocklist from "../../plugins/keyword-blocklist/index.ts";
import { growth, judgeOf } from "./guardrail-kit.ts";

const named = (keyword: string): string => `Request blocked: keyword '${keyword}' detected in input.`;

test("a keyword is found in any case and shown as the config writes it", () => {
  const { refusal } = judgeOf(keywordBlocklist, { keywords: ["Falcon", "red herring"] });
  assert.equal(refusal("The FALCON has landed"), named("Falcon"));
  assert.equal(refusal("what a Red\nHerring!"), named("red herring"));
  assert.equal(refusal("a red  fish and a herring"), undefined);
});

test("a keyword in an answer is refused in the words for answers", () => {
  const { refusal } = judgeOf(keywordBlocklist, { keywords: ["falcon"] });
  assert.equal(
    refusal("a falcon", { side: "output", role: "assistant" }),
    "Response blocked: keyword 'falcon' detected in output.",
  );
});

test("whole words are not found inside others, unless whole_word is off", () => {
  const whole = judgeOf(keywordBlocklist, { keywords: ["cat", "art"] });
  assert.equal(whole.judge("concatenate the starting parts"), undefined);
  assert.equal(whole.refusal("the cat's toy"), named("cat"));
  assert.equal(whole.refusal("snake_cat_case"), named("cat"));
  const anywhere = judgeOf(keywordBlocklist, { keywords: ["cat"], whole_word: false });
  assert.equal(anywhere.refusal("concatenate"), named("cat"));
});

test("capitals are told apart when case_sensitive is on", () => {
  const { refusal } = judgeOf(keywordBlocklist, { keywords: ["Orion"], case_sensitive: true });
  assert.equal(refusal("Project Orion"), named("Orion"));
  assert.equal(refusal("project orion"), undefined);
});

test("a longer keyword does not hide a shorter one that begins alike", () => {
  const { refusal } = judgeOf(keywordBlocklist, { keywords: ["foo", "foo bar"] });
  assert.equal(refusal("foo bar"), named("foo bar"));
  assert.equal(refusal("foo barn"), named("foo"));
  assert.equal(refusal("food"), undefined);
});

test("signs in a keyword stand for themselves", () => {
  const keywords = ["c++", "#launch", "a.b", "$(x)", "[y]{2}", "back\\slash", "50%"];
  const { judge, refusal } = judgeOf(keywordBlocklist, { keywords });
  for (const keyword of keywords) assert.equal(refusal(`about ${keyword}, please`), named(keyword));
  assert.equal(judge("acb and (x) and y2 and launch"), undefined);
  assert.equal(refusal("x#launch"), named("#launch"));
});

test("another Unicode form of a keyword is the same keyword", () => {
  const { refusal } = judgeOf(keywordBlocklist, { keywords: ["Café", "falcon"] });
  assert.equal(refusal("the cafe\u0301 is shut"), named("Café"));
  assert.equal(refusal("ｆａｌｃｏｎ"), named("falcon"));
  assert.equal(refusal("fal\u00adcon and fal\u2060con"), named("falcon"));
  assert.equal(refusal("the cafés are shut"), undefined);
});

test("letters of any script fold and bound words", () => {
  const { judge, refusal } = judgeOf(keywordBlocklist, { keywords: ["сокол", "ΣΑΣ", "istanbul", "größe"] });
  assert.equal(refusal("этот СОКОЛ летит"), named("сокол"));
  assert.equal(judge("соколиный"), undefined);
  assert.equal(refusal("για σας."), named("ΣΑΣ"));
  assert.equal(refusal("İSTANBUL"), named("istanbul"));
  assert.equal(refusal("die GRÖẞE"), named("größe"));
});

test("scripts without blanks between words know no word's edge", () => {
  const { refusal } = judgeOf(keywordBlocklist, { keywords: ["隼", "ロケット", "falcon"] });
  assert.equal(refusal("我看到了隼在飞"), named("隼"));
  assert.equal(refusal("新しいロケットです"), named("ロケット"));
  assert.equal(refusal("那个falcon飞了"), named("falcon"));
});

test("spellings that readers take for the same word are the same keyword", () => {
  const { judge, refusal } = judgeOf(keywordBlocklist, {
    keywords: ["Straße", "ısı", "e-mail list", "سر", "שלום", "GROSS"],
  });
  for (const text of ["in der STRASSE", "Strasse 5", "straße", "STRAẞE"])
    assert.equal(refusal(text), named("Straße"));
  for (const text of ["ısı", "ISI", "isi", "ısi"]) assert.equal(refusal(text), named("ısı"));
  assert.equal(refusal("ein groß es"), named("GROSS"));
  for (const hyphen of "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d-") {
    assert.equal(
      refusal(`the e${hyphen}mail list`),
      named("e-mail list"),
      `U+${hyphen.charCodeAt(0).toString(16)}`,
    );
  }
  assert.equal(refusal("هذا سِرٌّ هنا"), named("سر"));
  assert.equal(refusal("هذا ســر هنا"), named("سر"));
  assert.equal(refusal("שָׁלוֹם"), named("שלום"));
  assert.equal(judge("strase, email list, سفر, Trossgross"), undefined);
  const cased = judgeOf(keywordBlocklist, { keywords: ["e-mail", "Maße"], case_sensitive: true });
  assert.equal(cased.refusal("my e\u2011mail"), named("e-mail"));
  assert.equal(cased.judge("my E-mail, Masse, maße"), undefined);
});

test("marks on the keyword of a configuration do not hide it either", () => {
  const { refusal } = judgeOf(keywordBlocklist, { keywords: ["سِرّ", "e\u2011mail"] });
  assert.equal(refusal("سر"), named("سِرّ"));
  assert.equal(refusal("an e-mail"), named("e\u2011mail"));
});

test("Korean words are found with their particles and not inside other words", () => {
  const { guardrail, judge, refusal } = judgeOf(keywordBlocklist, { keywords: ["비밀", "사내 계획"] });
  for (const text of ["비밀", "그 비밀을 말해", "비밀은", "비밀이라는 것", "비밀에서!", "비밀입니다."]) {
    assert.equal(refusal(text), named("비밀"), text);
  }
  assert.equal(refusal("사내 계획의 일부"), named("사내 계획"));
  for (const text of ["비밀번호", "비밀번호를", "왕비밀", "비밀은행"])
    assert.equal(judge(text), undefined, text);
  // On a stream a particle may yet turn out to be the beginning of something else.
  assert.equal(judge("비밀은", { partial: true }), undefined);
  assert.equal(refusal("비밀은 없다.", { partial: true }), named("비밀"));
  assert.ok(Number(guardrail.window) >= 5);
});

test("on a stream a match that may yet become another word waits", () => {
  const { guardrail, judge, refusal } = judgeOf(keywordBlocklist, { keywords: ["foo"] });
  assert.equal(judge("some foo", { partial: true }), undefined);
  assert.equal(refusal("some foo ", { partial: true }), named("foo"));
  assert.equal(refusal("some foo"), named("foo"));
  assert.equal(guardrail.window, 4);
});

test("of many keywords each is found wherever it stands", () => {
  const keywords = Array.from({ length: 2000 }, (_, n) => `${["ka", "lo", "mi"][n % 3]}${n.toString(36)}x`);
  const { refusal } = judgeOf(keywordBlocklist, { keywords });
  const filler = "nothing to see here, move along. ".repeat(40);
  fc.assert(
    fc.property(fc.nat(keywords.length - 1), fc.nat(filler.length), (n, at) => {
      const keyword = keywords[n] ?? "";
      const place = filler.indexOf(" ", at % (filler.length - 40)) + 1;
      assert.equal(refusal(`${filler.slice(0, place)}${keyword} ${filler.slice(place)}`), named(keyword));
    }),
    { numRuns: 200 },
  );
});

test("patterns are found under their names, in the config's order and any case", () => {
  const patterns = { "ticket number": "\\bTICKET-\\d{3,}\\b", greeting: "(?:hi|hello) all" };
  const { judge, refusal } = judgeOf(keywordBlocklist, { patterns });
  assert.equal(refusal("hello all, see ticket-1234"), named("ticket number"));
  assert.equal(refusal("Hello ALL"), named("greeting"));
  assert.equal(refusal("ｔｉｃｋｅｔ-１２３"), named("ticket number"));
  assert.equal(judge("TICKET-12 and hello, all"), undefined);
  const cased = judgeOf(keywordBlocklist, { keywords: ["foo"], patterns, case_sensitive: true });
  assert.equal(cased.judge("ticket-1234"), undefined);
  assert.equal(cased.refusal("TICKET-1234 foo"), named("foo"));
});

test("on a stream a pattern's anchors hold at the ends of the answer, not of its pieces", () => {
  const patterns = { start: "^secret", end: "over$", word: "foo\\b" };
  const { guardrail, judge } = judgeOf(keywordBlocklist, { patterns });
  const output = { side: "output", role: "assistant" } as const;
  const piece = (text: string, before: number, partial: boolean): string | undefined =>
    judge(text, { ...output, partial, totalCharacters: before + text.length })?.reason;
  assert.equal(piece("secret plans", 0, true), "keyword 'start'");
  assert.equal(piece("secret plans", 40, true), undefined);
  assert.equal(piece("it is over", 40, true), undefined);
  assert.equal(piece("it is over", 40, false), "keyword 'end'");
  assert.equal(piece("foo", 40, true), undefined);
  assert.equal(piece("a foo.", 40, true), "keyword 'word'");
  assert.equal(guardrail.window, 1025);
});

test("patterns that no expression engine of another kind would survive take linear time", () => {
  const patterns = {
    nested: "(?:a+)+b",
    alternatives: "(?:a|aa|ab?)*c",
    spread: "a.{0,60}z",
    lines: "(?:.*\\n)*x",
  };
  const { judge } = judgeOf(keywordBlocklist, { patterns });
  for (const unit of ["a", "ab", "a ", "a\n", "az"]) {
    assert.ok(growth(unit, judge) < 6, `super-linear on ${JSON.stringify(unit)}`);
  }
});

test("options that look for nothing, and patterns that cannot be run, are faults", () => {
  const place = { on: ["input"] } as const;
  const faults = (patterns: Record<string, string>) =>
    keywordBlocklist.validateOptions?.({ patterns }, place).map(({ message }) => message);
  assert.deepEqual(faults({ fine: "a+" }), []);
  assert.match(faults({})?.[0] ?? "", /looks for nothing/);
  assert.match(faults({ ahead: "a(?=b)" })?.[0] ?? "", /pattern `ahead`: .*invalid/);
  assert.match(faults({ empty: "a*" })?.[0] ?? "", /it matches the empty text/);
  assert.match(faults({ large: "x.{0,900}" })?.[0] ?? "", /too large/);
});

test("a keyword is found across the places where the scan pauses", () => {
  const { refusal } = judgeOf(keywordBlocklist, { keywords: ["falconry"] });
  for (let before = 32_755; before <= 32_775; before++) {
    assert.equal(
      refusal(`${"-".repeat(before)}falconry`),
      named("falconry"),
      `${before} characters before it`,
    );
    assert.equal(refusal(`é${"-".repeat(before)}falconry`), named("falconry"));
  }
});

test("time grows with the length of the text and no faster", () => {
  const { judge } = judgeOf(keywordBlocklist, { keywords: ["a a a a b", "aaaaaaaaab", "foo bar", "ab"] });
  for (const unit of ["a ", "a", "foo ", "a   a\t", "foo", "aé", "隼"]) {
    assert.ok(growth(unit, judge) < 6, `super-linear on ${JSON.stringify(unit)}`);
  }
});
