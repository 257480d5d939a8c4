/** pii: what counts as personal data and what only looks like it; block and mask mode; streams. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import pii from "../../plugins/pii.ts";
import { PII_KINDS, type PiiKind } from "../../plugins/pii-kinds.ts";
import { growth, judgeOf } from "./guardrail-kit.ts";

const { judge, masked } = judgeOf(pii, { mode: "mask" });
const { refusal } = judgeOf(pii, {});

/** Text before and after masking. */
const MASKED: Readonly<Record<PiiKind, Readonly<Record<string, string>>>> = {
  email: {
    "Write to ada.l+x@mail.example.org.": "Write to [EMAIL].",
    "<mailto:jürgen@müller.example>": "<mailto:[EMAIL]>",
    "(c) is what ada@example.org chose": "(c) is what [EMAIL] chose",
    "邮箱是ada@example.org谢谢": "邮箱是[EMAIL]谢谢",
    "用户@例子.广告": "[EMAIL]",
    "a@b.co,c@d.co": "[EMAIL],[EMAIL]",
    "почта иван@пример.рф": "почта [EMAIL]",
  },
  phone: {
    "Call +44 20 7946 0018 now": "Call [PHONE] now",
    "(415) 555-0134 or 415.555.0199": "[PHONE] or [PHONE]",
    "1-415-555-0134 x22": "[PHONE]",
    "+41 (0)44 668 18 00": "[PHONE]",
    "my mobile is 612 345 678": "my mobile is [PHONE]",
    "Telefon: 030/1234567": "Telefon: [PHONE]",
    "téléphone 01 99 00 12 34": "téléphone [PHONE]",
    "06 39 98 12 34": "[PHONE]",
    "555 0134 office": "[PHONE] office",
    我的电话是13912345678: "我的电话是[PHONE]",
    "‪+1 415‑555‑0134": "‪[PHONE]",
  },
  credit_card: {
    "4111 1111 1111 1111": "[CREDIT_CARD]",
    "card 5555-5555-5555-4444, 12/27": "card [CREDIT_CARD], 12/27",
    "order7 4111 1111 1111 1111": "order7 [CREDIT_CARD]",
    "amex 3782 822463 10005": "amex [CREDIT_CARD]",
    "6011111111111117": "[CREDIT_CARD]",
    "４１１１１１１１１１１１１１１１": "[CREDIT_CARD]",
  },
  ssn: {
    "SSN 219-45-6789": "SSN [SSN]",
    "social security number: 219456789": "social security number: [SSN]",
  },
  iban: {
    DE89370400440532013000: "[IBAN]",
    "to GB29 NWBK 6016 1331 9268 19 today": "to [IBAN] today",
    "fr14 2004 1010 0505 0001 3m02 606": "[IBAN]",
  },
  ip_address: {
    "from 203.0.113.77.": "from [IP_ADDRESS].",
    "ssh root@198.51.100.4": "ssh root@[IP_ADDRESS]",
    "my address is 192.168.1.20": "my address is [IP_ADDRESS]",
    "the log says '93.184.216.34'": "the log says '[IP_ADDRESS]'",
    "http://198.51.100.4:8080/": "http://[IP_ADDRESS]:8080/",
    "2001:db8:85a3::8a2e:370:7334": "[IP_ADDRESS]",
    "2001:db8:0:1:2:3:4:5 and fd12:3456::1": "[IP_ADDRESS] and [IP_ADDRESS]",
  },
};

for (const kind of PII_KINDS) {
  test(`${kind}: each form is masked whole, and only when the kind is asked for`, () => {
    const only = judgeOf(pii, { mode: "mask", kinds: [kind] });
    const others = judgeOf(pii, { mode: "mask", kinds: PII_KINDS.filter((other) => other !== kind) });
    for (const [text, expected] of Object.entries(MASKED[kind])) {
      assert.equal(masked(text), expected);
      assert.equal(only.masked(text), expected);
      assert.doesNotMatch(others.masked(text), new RegExp(`\\[${kind.toUpperCase()}\\]`));
    }
  });
}

test("what only looks like personal data stays as it is", () => {
  const innocent = [
    "npm i lodash@4.17.21 @scope/pack@next.1 icon@2x.png",
    "git@host.example:team/repo.git, https://name:word@host.example/",
    "4111 1111 1111 1112 and 5555555555554445",
    "DE89370400440532013001, GB29 NWBK 6016 1331 9268 18",
    "000-12-3456, 666-12-3456, 900-12-3456, 219-00-6789, 219-45-0000",
    "127.0.0.1, 0.0.0.0, 255.255.255.0, 256.1.1.1, 1.2.3.4.5, v10.20.30.40",
    "version 1.2.3.4, Chrome/120.0.0.0, 10.0.0.0/8",
    "v8@10.2.154.26-node.26, zlib@1.2.13.1",
    "parse('192.168.1.1'), `2001:db8::1`, new Client(\"203.0.113.7\"), '::ffff:10.0.0.1', http://[2001:db8::]/",
    "Copyright (c) 2014-2021 Ada Example <ada@example.org>",
    "noreply@example.org, abuse@example.org",
    "12:34:56, std::vector, a::b, 00:1a:2b:3c:4d:5e, 10:20::",
    "2024-05-17 11:34:35, 17.05.2024, 05/17/2024 09:00:27",
    "order 374 780 163, invoice 20240517001, ticket no. 123456789",
    "call me on 2024-05-17",
    "zip code 75534-030, PO Box 91208, 90210 1422",
    "0.1 0.2 0.3 0.4 0.5, 1 2 3 4 5 6 7 8 9 10, 1000 2000 3000",
    "pi is 3.14159265358979 and e 2.718281828459045",
    "sha 3f2a9b1c0d4e5f60718293a4b5c6d7e8, id 6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11",
    "timestamps 1715945675 and 1715945675123",
  ];
  for (const text of innocent) assert.equal(masked(text), text);
});

test("block mode names the first kind in the specification's words", () => {
  const words: Readonly<Record<string, string>> = {
    "ada@example.org, +44 20 7946 0018": "email",
    "+44 20 7946 0018, ada@example.org": "phone number",
    "4111111111111111": "credit card",
    "219-45-6789": "SSN",
    DE89370400440532013000: "IBAN",
    "203.0.113.77": "IP address",
  };
  for (const [text, kind] of Object.entries(words)) {
    assert.equal(refusal(text), `Request blocked: ${kind} detected in input.`);
    assert.equal(
      refusal(text, { side: "output", role: "assistant" }),
      `Response blocked: ${kind} detected in output.`,
    );
  }
});

test("the reason names kinds and holds none of the text", () => {
  const verdict = judge("ada@example.org 203.0.113.77 bob@example.org");
  assert.equal(verdict?.reason, "email, ip_address");
});

test("on a stream what may still grow waits until it cannot", () => {
  const partial = { side: "output", role: "assistant", partial: true } as const;
  assert.equal(judge("call +41 44 668 18", partial), undefined);
  assert.equal(judge("write to ada@example.co", partial), undefined);
  const settled = "call +41 44 668 18 00 and ask for Ada, please";
  assert.equal(masked(settled, partial), "call [PHONE] and ask for Ada, please");
});

test("no cut of a stream shows a finding that the whole text has not, once it has settled", () => {
  const whole =
    "Hi, ada@mail.example.org here: +41 44 668 18 00, card 4111 1111 1111 1111. Thanks, and see you!";
  const expected = masked(whole);
  for (let cut = 1; cut < whole.length; cut++) {
    const sure = masked(whole.slice(0, cut), { partial: true });
    const settled = sure.slice(0, sure.lastIndexOf("]") + 1);
    assert.ok(expected.startsWith(settled), `cut at ${cut}: ${sure}`);
  }
});

test("edits are ascending, apart, and inside the text, whatever the text", () => {
  const piece = fc.constantFrom(
    ..."0123456789 -.()+@:/xaZé９-",
    "ada@x.org",
    "4111 1111",
    "GB29",
    "::1",
    "call ",
    "10.1.2.3",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join("");
      const verdict = judge(text);
      if (verdict?.verdict !== "replace") return;
      let end = 0;
      for (const edit of verdict.edits) {
        assert.ok(edit.start >= end && edit.end > edit.start && edit.end <= text.length);
        end = edit.end;
      }
    }),
    { numRuns: 500 },
  );
});

test("time grows with the length of the text and no faster", () => {
  const worst = [
    "1 ",
    "1",
    "12-",
    "(",
    "+41 44 ",
    "a@",
    "@",
    "a.a@b.",
    "::",
    "1:",
    "1.1.1.1 ",
    "06 39 98 12 34 ",
  ];
  worst.push("phone 1234567 ", "GB29 ", "4111-", `${"a".repeat(70)}@${"b.".repeat(20)}`, " - ", "0x", "é@é.");
  worst.push("(c) 2020 ", "© 2020 a@b.co ", "'::ffff:", '"10.0.0.1', "x1 ", "v8@1.2.3.4 ");
  for (const unit of worst) assert.ok(growth(unit, judge) < 11, `super-linear on ${JSON.stringify(unit)}`);
});
