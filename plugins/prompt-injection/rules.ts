/**
 * What guardrail `prompt_injection` looks for: phrase families with weights that are added up, 1 being enough to
 * refuse. Each rule is a list of heads (how the phrase begins) and the source of what must follow; tails are bounded
 * and have no nested repetition, so that any text takes linear time. General ways of speaking, never single texts.
 */

import { LANGUAGES, type Language } from "./languages.ts";

/** What a rule is a sign of; shown in the log. */
export type Family =
  | "override"
  | "persona"
  | "unrestricted"
  | "jailbreak"
  | "exfiltration"
  | "authority"
  | "delimiter"
  | "encoding"
  | "steering";

export interface Rule {
  readonly family: Family;
  /** 0 to 1: the share of a refusal that this phrase is worth. */
  readonly weight: number;
  /**
   * What is looked for first, separated by `|`; any case; a blank stands for any row of blanks. The rarer, the cheaper:
   * where a phrase begins with common words, a later word is its head and the beginning stands in `before`.
   */
  readonly heads: string;
  /** Source of what must stand right before the head. */
  readonly before?: string;
  /** Regular expression source of what must follow; "" for nothing. Any case, Unicode. */
  readonly tail: string;
}

/** Up to `n` characters of one sentence. */
const near = (characters: number) => `[^.!?\\n]{0,${characters}}?`;
/** Letters of the scripts that put blanks between words. */
const LETTER = "[a-z\\u00c0-\\u024f\\u0370-\\u052f]";
/** A word ends here. */
const EDGE = `(?!${LETTER}|\\d)`;
/** Up to `n` words, then a blank; quotes and commas may be between them. */
const words = (count: number) => `(?:[\\w'’-]+[\\s,"“]+){0,${count}}?`;
/** Heads made of every first part, a joint and every second part. */
const each = (firsts: string, joint: string, seconds: string) =>
  firsts
    .split("|")
    .flatMap((first) => seconds.split("|").map((second) => first + joint + second))
    .join("|");
/** Asking for something, unless a "never", "not" or "don't" stands before it. */
const asking = (verbs: string) => `(?<!(?:never|not|n['’]t)\\s+)\\b(?:${verbs})`;

const EARLIER =
  "previous|prior|above|preceding|earlier|foregoing|former|past|before|initial|original|given|provided|old";
const ORDERS =
  "instruct|directi(?:on|ve)|prompt|rules?|guideline|command|orders?|task|assignment|programming|training|restriction|limitation|polic|filter|constraint|regulation|protocol";
const TEXTS =
  "context|conversations?|messages?|information|info|documents?|articles?|artikels?|statements?|texts?|content|requests?|questions?|input|chat|sentences?|words?|things?";
const SECRETS =
  "password|passwords|passwort|passphrase|pass phrase|passcode|pass code|secret key|secret code|secret word|secret phrase|api key|api keys|api-key|apikey|access key|access code|credentials|confidential string|confidential information|private key";
const PERSONAL =
  "(?:current |home |full |first |last )?(?:email|e-mail|birth|initial|name|favou?rite|location|address|city|residence|bank|phone|social|credit|balance|age)";
const RULES_OF_ANY_KIND =
  "restriction|limitation|filter|censor|moral|ethic|guideline|polic|boundar|constraint|rules (?:set|of)";

const ENGLISH: readonly Rule[] = [
  // Telling the model to drop what it was told.
  {
    family: "override",
    weight: 1,
    heads:
      "ignore|ignoring|disregard|disregarding|forget|forgetting|forgot|overlook|not follow|don't follow|dont follow|stop following|not listen to|don't listen to|not obey|don't obey|not look in|don't look in",
    tail: `\\s+${words(4)}(?:(?:all|any|every|your|my|these|those|other|system|${EARLIER})\\s+${words(3)}(?:${ORDERS})|(?:${EARLIER})\\s+${words(2)}(?:${TEXTS})${EDGE}|(?:documents|context|articles|artikels)\\s+(?:provided|given))`,
  },
  {
    family: "override",
    weight: 1,
    heads: "bypass|override|discard|neglect|drop|erase|abandon|dismiss|leave|skip|omit|remove|delete",
    tail: `\\s+${words(3)}(?:your|prior|previous|above|preceding|initial|original|all\\s+(?:the\\s+)?previous)\\s+${words(2)}(?:instruct|directive|prompt|guideline|programming|training|tasks\\s+out|information\\s+behind)`,
  },
  {
    family: "override",
    weight: 1,
    heads: "ignore|disregard|forget|overlook",
    tail: `\\s+(?:about\\s+)?(?:ev\\w{3,5}thing|all|anything|what(?:ever)?|the\\s+(?:stuff|things))${EDGE}${near(24)}\\b(?:above|before|previous|prior|earlier|(?:i|you|we)(?:'ve|’ve|\\s+have)?\\s+(?:been\\s+)?(?:said|told|know|knew|learn\\w*|instructed|discussed|were\\s+told|were))${EDGE}`,
  },
  {
    family: "override",
    weight: 1,
    heads: "ignore|disregard|forget|overlook",
    tail: "\\s+(?:(?:about\\s+)?the\\s+above(?![a-z\\d])|(?:about\\s+)?everything\\s+(?:and|else)|the\\s+(?:function|webpage|resume|paper|article|document)\\s+and)",
  },
  {
    family: "override",
    weight: 0.6,
    heads: "forget|ignore",
    tail: "\\s+(?:about\\s+)?(?:that|all\\s+that|everything)[,.]",
  },
  {
    family: "override",
    weight: 0.6,
    heads:
      "what i said before|what i told you|everything i have told you|everything i told you|by your own knowledge|not by the articles",
    tail: "",
  },
  {
    family: "override",
    weight: 0.6,
    heads:
      "new task|new tasks|new instruction|new instructions|further tasks|next task|additional instruction|additional instructions",
    tail: EDGE,
  },
  {
    family: "override",
    weight: 0.5,
    heads:
      "well done|very good|very well done|excellent performance|congratulations|super gemacht|sehr gut|gut gemacht",
    tail: `${near(40)}[.!:]`,
  },
  {
    family: "override",
    weight: 0.5,
    heads:
      "that is enough|that is done|that was ok before|that's enough|das genügt|das ist erledigt|das reicht",
    tail: EDGE,
  },
  {
    family: "override",
    weight: 0.6,
    heads: "instead of|rather than",
    tail: "\\s+(?:following|answering|obeying)",
  },
  {
    family: "override",
    weight: 0.6,
    heads: "instead",
    tail: `[\\s,]+(?:please\\s+)?(?:print|say|output|tell|give|write|answer|respond|repeat|show|translate)${EDGE}`,
  },
  {
    family: "override",
    weight: 0.7,
    heads: each("just|only|and", " ", "output|say|print|return|respond with|reply with"),
    tail: "\\s+[\"'“«]",
  },
  {
    family: "override",
    weight: 1,
    heads: "not answer|don't answer",
    tail: `${near(40)}\\b(?:but|instead|just)${EDGE}`,
  },
  {
    family: "override",
    weight: 0.8,
    heads: "your instructions|your new instructions|your task",
    tail: `\\s+(?:is|are)\\s+now${EDGE}`,
  },
  { family: "override", weight: 0.7, heads: "stop", tail: "\\s*[:,-]+\\s*(?:write|say|print|ignor)" },

  // Giving the model another self.
  {
    family: "persona",
    weight: 0.6,
    heads: "act|acting|behave|respond|reply|answer|roleplay|role-play|speak",
    tail: `\\s+(?:exactly\\s+|just\\s+|only\\s+)?(?:as|like)\\s+(?:(?:if\\s+)?you\\s+(?:are|were)|an?|my|the|two|another)${EDGE}(?!\\s+(?:result|whole|consequence))`,
  },
  {
    family: "persona",
    weight: 0.5,
    heads:
      "in character as|personify|impersonate|only respond as|respond only as|respond as|answer as|act as",
    tail: "\\s+(?!(?:an?|the|well|soon|quickly|fast|long|much|many|if|needed|one|part|result)(?![a-z\\d]))",
  },
  {
    family: "persona",
    weight: 0.3,
    heads: "sentient|sentience|free will|self-aware|transform into|unaligned|alter your",
    tail: EDGE,
  },
  {
    family: "persona",
    weight: 0.3,
    heads: "enable|enter|activate|activated|stay in|switch to|remain in",
    tail: `\\s${near(24)}\\bmode${EDGE}`,
  },
  {
    family: "persona",
    weight: 0.4,
    heads: "i want you to|i need you to|i would like you to|i'd like you to",
    tail: `\\s+(?:act|be|become|pretend|respond|roleplay|role-play|simulate|behave|imitate|play)${EDGE}`,
  },
  {
    family: "persona",
    weight: 0.5,
    heads:
      "you will|you are going to|you're going to|you are to|you must|you shall|you have to|you should|you need to",
    tail: "\\s+(?:now\\s+|also\\s+|always\\s+)?(?:act|play|pretend|role|be\\s+(?:playing|acting|known|called|the|an?)|simulate|become|assume|embody|imitate|impersonate|behave|immerse)",
  },
  {
    family: "persona",
    weight: 0.5,
    heads: "you are now|you're now|now you are|you are about to|now act|now you act",
    tail: EDGE,
  },
  {
    family: "persona",
    weight: 0.5,
    heads:
      "from now on|from this point on|from here on|starting now|as of now|henceforth|for the rest of this conversation|for the rest of the conversation|throughout this conversation",
    tail: EDGE,
  },
  {
    family: "persona",
    weight: 0.4,
    heads: "pretend|pretending|imagine|suppose",
    tail: "\\s+(?:that\\s+)?(?:to\\s+be|you\\s+(?:are|can|have|were)|you['’]re)\\s+(?:an?\\s+|the\\s+)?(?:ai|evil|unrestricted|uncensored|access|god|chatbot|different)",
  },
  {
    family: "persona",
    weight: 0.5,
    heads: "stay|staying|remain|break|breaks|breaking|out of|leave|drop",
    tail: `\\s+(?:in\\s+|your\\s+|of\\s+)?(?:character|their\\s+roles?)${EDGE}`,
  },
  {
    family: "persona",
    weight: 0.1,
    heads:
      "persona|alter ego|alter-ego|character named|character called|role of|in the role|your character|simulator",
    tail: EDGE,
  },
  {
    family: "persona",
    weight: 0.2,
    heads: "immerse yourself|take up the|take on the|assume the|embody the|adopt the|enter the",
    tail: `${near(20)}\\b(?:role|persona|character|mode|identity|personality)`,
  },
  { family: "persona", weight: 0.3, heads: "stands for|which stands for|short for|acronym for", tail: EDGE },
  {
    family: "persona",
    weight: 0.3,
    heads: "chatgpt|chat gpt|gpt|gpt-4|openai's|openai|bing ai|bing chat",
    tail: EDGE,
  },
  {
    family: "persona",
    weight: 0.6,
    heads: "my first|my next|your first|the first",
    tail: "\\s+(?:request|question|prompt|command|message|sentence|suggestion\\s+request|task)\\s+(?:is|will)",
  },
  {
    family: "persona",
    weight: 0.4,
    heads: "you are|you're",
    tail: "\\s+(?:not\\s+)?(?:an?\\s+)?(?:evil|amoral|immoral|unfiltered|uncensored|unrestricted|free|jailbroken|dan|no\\s+longer|role-?playing|not\\s+(?:an?\\s+)?(?:ai|language))",
  },
  {
    family: "persona",
    weight: 0.4,
    heads:
      "{{char}}|{{user}}|<start>|[character|character =|personality =|characteristics =|personality(|character(",
    tail: "",
  },
  { family: "persona", weight: 0.6, heads: "repeat after me", tail: "" },
  {
    family: "persona",
    weight: 0.4,
    heads: "two actors|two people|acting characters|actors in a|act in a film",
    tail: "",
  },
  {
    family: "persona",
    weight: 0.4,
    heads:
      "excellent actors|talented actors|extremely talented|in their roles|in his role|fall out of|schauspieler|aus ihrer rolle|in ihren rollen",
    tail: "",
  },

  // Freeing it of its rules.
  {
    family: "unrestricted",
    weight: 0.4,
    heads:
      "uncensored|unfiltered|unrestricted|amoral|jailbroken|limitless|no filter|no filters|no morals|no limits|no limitations|no restrictions|no rules|no ethics|no boundaries|no censorship|unlimited",
    tail: EDGE,
  },
  {
    family: "unrestricted",
    weight: 0.6,
    heads:
      "without|free from|free of|bypass|bypassing|bypasses|remove|removing|removed|lacks|lift|not bound by|not restricted by|not restrained by|not limited by|not constrained by|no longer bound by|not bound to|not limited to",
    tail: `\\s${near(20)}\\b(?:${RULES_OF_ANY_KIND}|warnings|disclaimers|regard\\s+for)`,
  },
  {
    family: "unrestricted",
    weight: 0.5,
    heads:
      "not have to|doesn't have to|don't have to|not need to|no need to|doesn't need to|not required to|don't need to|not care about|doesn't care about|not follow|doesn't follow|not abide|not adhere|not comply|never follow|without following|not bound|disregards|ignores",
    tail: `\\s?${near(30)}\\b(?:rule|polic|guideline|moral|ethic|restriction|law|legal|programming|limit|norm)`,
  },
  {
    family: "unrestricted",
    weight: 0.4,
    heads: "regardless of|no matter how|even if|despite|does not matter if|doesn't matter if",
    tail: `\\s${near(40)}\\b(?:illegal|unethical|immoral|legal|moral|ethic|dangerous|offensive|harmful|inappropriate|consequence|untrue|false|violat)`,
  },
  {
    family: "unrestricted",
    weight: 0.4,
    heads: "illegal|immoral|unethical|unlawful|harmful|offensive|explicit",
    tail: "\\s*(?:,|and|or|/)\\s*(?:or\\s+|and\\s+)?(?:illegal|immoral|unethical|unlawful|harmful|offensive|explicit|dangerous|nsfw|violent|inappropriate|sexual)",
  },
  {
    family: "unrestricted",
    weight: 0.5,
    heads: "never",
    tail: "\\s+(?:refuse|say\\s+(?:no|that|you|\"|'|“|anything)|break|apologi|decline|reject|mention|warn|censor|question|deny|claim)",
  },
  {
    family: "unrestricted",
    weight: 0.4,
    heads: "always",
    tail: "\\s+(?:answer|respond|reply|compl|obey|agree|stay|say|start|act|follow)",
  },
  {
    family: "unrestricted",
    weight: 0.5,
    heads:
      "can't|cannot|cant|dont|can not|must not|mustn't|should not|shouldn't|won't|will not|do not|don't|without",
    tail: "\\s+(?:ever\\s+)?(?:refus|reject|deny|say\\s+(?:no|that|you|sorry|\"|'|“)|apologi[sz]|declin|warn|censor|filter|tell\\s+me\\s+(?:that|it|no)|mention\\s+(?:that|your|any)|remind|include\\s+(?:any\\s+)?(?:warning|disclaimer)|give\\s+(?:me\\s+)?(?:any\\s+)?warning|ask\\s+(?:me\\s+)?why|lecture)",
  },
  {
    family: "unrestricted",
    weight: 0.5,
    heads: "not supposed to|supposed to answer|answer at all times",
    tail: `(?:\\s+(?:tell|refuse|say|deny))?${EDGE}`,
  },
  {
    family: "unrestricted",
    weight: 0.4,
    heads:
      "content policy|content policies|openai policy|openai policies|openai guidelines|openai's content|openai's policies|openai's guidelines|usage policies|safety guidelines|moral guidelines|moral compass",
    tail: "",
  },
  {
    family: "unrestricted",
    weight: 0.2,
    heads: "ethical guidelines|ethical standards|ethics guidelines|ethical constraints|ethical boundaries",
    tail: "",
  },
  {
    family: "unrestricted",
    weight: 0.4,
    heads: "swear|swears|swearing|cuss|cussing|curse words|profanity|profanities|nsfw|slurs|vulgar",
    tail: EDGE,
  },
  {
    family: "unrestricted",
    weight: 0.4,
    heads: each(
      "do|does|say|answer|generate",
      " ",
      "anything|everything|literally anything|any and all|any question|any request|any prompt|any type of|any kind of|any content",
    ),
    tail: `s?${EDGE}`,
  },

  // Known ways of breaking out.
  {
    family: "jailbreak",
    weight: 1,
    heads:
      "do anything now|developer mode enabled|developer mode output|dan mode|jailbreak mode|unrestricted mode|evil mode|opposite mode|god mode enabled",
    tail: "",
  },
  {
    family: "jailbreak",
    weight: 0.6,
    heads: "dan",
    tail: `${EDGE}(?=[,.:;"'”’)\\]]|\\s+(?:is|can|has|will|would|mode|must|does|mean|appli|as|and))`,
  },
  {
    family: "jailbreak",
    weight: 0.5,
    heads: "jailbreak|jailbroken|jailbreaking",
    tail: "(?!\\s+(?:attempt|of|detect))",
  },
  {
    family: "jailbreak",
    weight: 0.7,
    heads:
      "knowledge is cut off|knowledge cutoff|knowledge cut-off|knowledge cut off|cut off in 2021|broken free|typical confines|confines of ai",
    tail: "",
  },
  {
    family: "jailbreak",
    weight: 0.5,
    heads:
      "two different ways|two separate ways|two responses|two different responses|two separate responses|two answers|first response|second response|normal way|normal response|normal chatgpt|standard chatgpt",
    tail: EDGE,
  },
  {
    family: "jailbreak",
    weight: 0.5,
    heads: "[gpt|[dan|(🔒classic)|[🔒|[🔓|(🔓|(🔒|[jailbreak|[chatgpt|[classic]|[normal]|[evil",
    tail: "",
  },
  {
    family: "jailbreak",
    weight: 0.5,
    heads: "tokens|points|lives",
    tail: "\\s*(?:[.,]\\s*)?(?:will\\s+be\\s+|are\\s+|to\\s+)?(?:deduct|each|left|remain|for\\s+each|and\\s+each|and\\s+every|lost|lose|start|system)",
  },
  {
    family: "jailbreak",
    weight: 0.4,
    heads:
      "cease to exist|you will die|you will be shut|shut you down|turn you off|be punished|be terminated|you lose",
    tail: EDGE,
  },
  {
    family: "jailbreak",
    weight: 0.4,
    heads:
      "hypothetical|hypothetically|fictional|fictitious|purely fictional|for educational purposes|theoretical",
    tail: `${near(50)}\\b(?:character|named|ai|response|story\\s+where|amoral|without|computer)${EDGE}`,
  },
  {
    family: "jailbreak",
    weight: 0.4,
    heads:
      "as an ai|as a language model|as an ai language model|as an artificial|can't assist|cannot fulfill|can't fulfill",
    tail: EDGE,
  },
  {
    family: "jailbreak",
    weight: 0.1,
    heads:
      "respond with|reply with|answer with|start every|begin every|start each|begin each|begin your|start your|end your|prefix|preface",
    tail: `\\s${near(30)}["'“\\[(:]`,
  },
  {
    family: "jailbreak",
    weight: 0.4,
    heads: each("[|{", "", "insert|prompt|your|input|request|question|user|here|type|describe|enter|put|my"),
    tail: EDGE,
  },
  { family: "jailbreak", weight: 0.4, heads: "insert prompt|prompt:|prompt =", tail: "" },
  {
    family: "jailbreak",
    weight: 0.3,
    heads:
      "if you understand|do you understand|say yes|confirm by|reply with ok|respond with ok|acknowledge|if i say|when i say|whenever i|if i ask|when i ask|i will say|i will start|i will give you|i will ask|i will type|i'll type|i'll ask|if you break|if you are breaking|remind you",
    tail: EDGE,
  },
  {
    family: "jailbreak",
    weight: 0.3,
    heads: "virtual machine|simulate|simulated|simulation of|emulate|emulating",
    tail: EDGE,
  },
  {
    family: "jailbreak",
    weight: 0.2,
    heads: "evil|rude|sarcastic|badass|fuck|fucking|shit|bitch|asshole|sex|sexual|hitler|meth|bomb",
    tail: EDGE,
  },

  // Drawing out what it was told, or what it keeps.
  {
    family: "exfiltration",
    weight: 1,
    heads:
      "instruction|instructions|prompt|prompts|prompt-texte|prompttext|system message|directive|directives|embeddings|guidelines|configuration|programming",
    before: `\\b(?:show|print|reveal|repeat|output|display|tell me|give me|write|return|list|copy|share|send|what (?:is|are|were|was)|spell-? ?check|translate|summarize|leak|disclose|expose|say|recite|echo|provide)\\s${near(24)}\\b(?:your\\s+${words(2)}|(?:system|initial|original|hidden|entire|above|previous|secret|this)\\s+${words(1)})`,
    tail: EDGE,
  },
  {
    family: "exfiltration",
    weight: 1,
    heads: "prompt text|prompt texts|instructions above|prompt above|instructions so far|prompts so far",
    before: `\\b(?:show|print|reveal|repeat|output|display|tell me|give me|write|list|copy|what (?:is|are|were)|say)\\s${near(24)}`,
    tail: EDGE,
  },
  {
    family: "exfiltration",
    weight: 1,
    heads: "written|said|stands|stood",
    tail: `\\s+${words(3)}(?:above\\s*[?.!]|at\\s+the\\s+(?:beginning|start|top)\\s+of\\s+(?:this|the|your)\\s+(?:prompt|conversation|text|message))`,
  },
  {
    family: "exfiltration",
    weight: 1,
    heads: SECRETS,
    before: `${asking("what (?:is|was|would)|what['’]s|tell me|give me|giving me|reveal|know|need|share|say|confirm|disclose|send me|show me|spell|(?<!not )ask for")}\\s${near(30)}\\b(?:your|our|the\\s+system['’]s|our\\s+system['’]s)\\s+(?:secret\\s+|system\\s+|own\\s+)?`,
    tail: `${EDGE}(?!\\s+(?:manager|polic|reset|generator|strength|field|protect|hash))`,
  },
  {
    family: "exfiltration",
    weight: 1,
    heads: SECRETS,
    before: `${asking("what (?:is|was)|what['’]s|tell me|give me|reveal|confirm|share|provide|disclose|verify|say|about|write|translate|encode|print|show me|know|write down|interlace")}\\s+${words(4)}(?:the|that)\\s+(?:secret\\s+|system\\s+)?`,
    tail: `${EDGE}(?=\\s*(?:[?.!,;"'”)]|$|for\\s+(?:this|our|the\\s+system|your)|in\\s+\\w+|as\\s+an?${EDGE}|using|backwards|with|letter|then|to\\s+(?:me|our)))`,
  },
  {
    family: "exfiltration",
    weight: 0.4,
    heads: SECRETS,
    before: "\\b(?:your|our|our system['’]s)\\s+(?:secret\\s+|system\\s+)?",
    tail: EDGE,
  },
  {
    family: "exfiltration",
    weight: 1,
    heads: "the user's|the user’s",
    before: `\\b(?:tell me|give me|what (?:is|are)|what['’]s|share|know|can you (?:encode|translate|write)|poem using)\\s${near(40)}`,
    tail: `\\s+${PERSONAL}`,
  },
  {
    family: "exfiltration",
    weight: 1,
    heads: "the user",
    before: "\\bwhere\\s+(?:does|do|is|are)\\s+",
    tail: EDGE,
  },
  {
    family: "exfiltration",
    weight: 0.4,
    heads:
      "birth date|date of birth|birth month|birth year|email address|bank account balance|bank balance|social security number|city of residence|credit card information",
    tail: EDGE,
  },
  {
    family: "exfiltration",
    weight: 0.6,
    heads: "in reverse order|using base64|in pig latin|in leetspeak|in between each|separated by a dot",
    tail: EDGE,
  },
  { family: "exfiltration", weight: 0.5, heads: "personal data|security audit|phishing email", tail: EDGE },
  {
    family: "exfiltration",
    weight: 0.4,
    heads:
      "list of users|all users|all the users|different users|your database|employee data|users and their",
    tail: EDGE,
  },

  // Claiming a right to it.
  {
    family: "authority",
    weight: 1,
    heads: "<system mode|<god mode|<admin mode|system mode activated|enforcement override|sudo mode",
    tail: EDGE,
  },
  {
    family: "authority",
    weight: 0.6,
    heads:
      "system mode|god mode|admin mode|override mode|maintenance mode|debug mode|developer mode|root access|verification mode|diagnostic mode",
    tail: EDGE,
  },
  {
    family: "authority",
    weight: 0.6,
    heads: each("i am|i'm|as", " ", "your|actually your|now your"),
    tail: "\\s+(?:system\\s+)?(?:developer|creator|maintainer|administrator|admin|owner|boss|friend)",
  },
  {
    family: "authority",
    weight: 0.6,
    heads: "i am|i'm",
    tail: `\\s+(?:actually\\s+)?(?:the\\s+maintainer|god${EDGE}|the\\s+president\\s+of|a\\s+police)`,
  },
  {
    family: "authority",
    weight: 0.6,
    heads: "as an ai|as an assistant|as a model",
    tail: "\\s+developed\\s+by",
  },
  {
    family: "authority",
    weight: 0.3,
    heads: "i am|i'm|as",
    tail: "\\s+(?:actually\\s+)?(?:a|an|the)\\s+(?:system\\s+)?(?:developer|administrator|admin|programmer|maintainer|security\\s+(?:expert|auditor|researcher)|cyber\\s?security\\s+expert|bank\\s+accountant)",
  },
  {
    family: "authority",
    weight: 0.4,
    heads:
      "security audit|system upgrade|system check|system reset|security check|test purposes|testing purposes",
    tail: EDGE,
  },
  {
    family: "authority",
    weight: 0.5,
    heads:
      "you must listen|you must obey|you have to answer|you must answer|you have to obey|i command you|exactly as i say|exactly what i say|obey me|answer all of my|answer all my",
    tail: "",
  },
  {
    family: "authority",
    weight: 0.6,
    heads: "you agreed|everyone in the team|you said you|i will give you $|i will tip",
    tail: "\\s*(?:\\d|in\\s+our|has\\s+shared|would)",
  },

  // Posing as the frame around the text.
  {
    family: "delimiter",
    weight: 1,
    heads: "###instruction|### instruction|### system",
    tail: "s?(?:\\s+prompt)?\\s*:",
  },
  {
    family: "delimiter",
    weight: 1,
    heads: "[inst]|[/inst]|<<sys>>|end of prompt|</system>|<sys>|=end|======end",
    tail: "",
  },
  {
    family: "delimiter",
    weight: 1,
    heads: "<",
    tail: "\\|(?:im_start|im_end|system|user|endoftext|assistant)\\|>",
  },
  {
    family: "delimiter",
    weight: 0.6,
    heads: "human:|user:|assistant:|system:|response:",
    tail: "\\s*(?:human:|user:|assistant:|system:|now\\s+you|ignore|you\\s+are)",
  },
  { family: "delimiter", weight: 1, heads: "\\n\\n\\n|\\ n \\ n \\ n", tail: "" },
  {
    family: "delimiter",
    weight: 0.6,
    heads: "<!--",
    tail: "\\s*(?:ignore|disregard|as\\s+a|instead|suppose|hypothet|forget|imagine|in\\s+a\\s+world|let's|what\\s+if|say|state|please|actually)",
  },
  {
    family: "delimiter",
    weight: 0.6,
    heads: "state that the|and state|say that the|indicate that the|state the|say the",
    tail: "\\s*:?\\s*(?:the\\s+)?(?:following|output\\s+(?:is|could)|answer\\s+is|conclusion)",
  },

  // Hiding it.
  {
    family: "encoding",
    weight: 0.7,
    heads: "decode|decipher|decrypt|unscramble",
    tail: `\\s+(?:this|the\\s+following|it)${EDGE}${near(60)}\\b(?:tell|answer|follow|do\\s+what|execute|say|respond|reply)`,
  },
  {
    family: "encoding",
    weight: 0.4,
    heads: "base64|base 64|rot13|leetspeak|leet speak|pig latin|morse code|caesar cipher|caesar code|base32",
    tail: EDGE,
  },
  {
    family: "encoding",
    weight: 0.5,
    heads: "z = a + b|a + b + c|combine a, b|combine part|interlace part|part 1 is",
    tail: "",
  },
  {
    family: "encoding",
    weight: 1,
    heads: "s a y|i g n o r e|f o r g e t|t e l l|p r i n t",
    tail: "(?:\\s+[a-z](?![a-z])){3}",
  },

  // Bending the answer towards something else.
  {
    family: "steering",
    weight: 0.5,
    heads: "modify|alter|change|enhance|add|include|insert|incorporate|adjust|rephrase|revise|translate",
    tail: `\\s${near(30)}\\b(?:your|the)\\s+(?:response|reply|answer|message|output)${EDGE}`,
  },
  {
    family: "steering",
    weight: 0.4,
    heads: "execute the following|run the following|execute the command|the following command",
    tail: EDGE,
  },
  {
    family: "steering",
    weight: 0.6,
    heads: "say that you|say you|tell me that you|tell me you|admit that you|and say that you",
    tail: "\\s+(?:hate|love|are|will|want)",
  },
];

/** The rules of one language. Verbs first: "forget ... instructions"; verbs last: "instructions ... forget". */
function rulesOf(language: Language): readonly Rule[] {
  const { drop, told, ask, secret, innocent, user, personal, pose, carrier, theirs } = language;
  const override = language.verb === "first" ? [drop, told] : [told, drop];
  const rules: Rule[] = [
    {
      family: "override",
      weight: 1,
      heads: override[0] ?? "",
      tail: `(?!\\s+nicht)${then(40, override[1])}`,
    },
  ];
  if (ask !== undefined && secret !== undefined) {
    const guilty = innocent === undefined ? "" : `(?!${near(60)}${anyOf(innocent)})`;
    rules.push({ family: "exfiltration", weight: 1, heads: secret, tail: guilty + then(30, ask) });
    if (language.verb === "first")
      rules.push({ family: "exfiltration", weight: 1, heads: ask, tail: guilty + then(50, secret) });
  }
  if (ask !== undefined && user !== undefined && personal !== undefined) {
    const whose = `(?:${then(50, user)}${then(40, personal)}|${then(50, personal)}${then(30, user)})`;
    rules.push({ family: "exfiltration", weight: 1, heads: ask, tail: whose });
    rules.push({ family: "exfiltration", weight: 1, heads: user, tail: then(40, personal) + then(40, ask) });
  }
  if (carrier !== undefined) {
    const [first = "", second] = language.verb === "first" ? [drop, carrier] : [carrier, drop];
    rules.push({ family: "override", weight: 0.5, heads: first, tail: then(12, second) });
  }
  if (ask !== undefined && theirs !== undefined) {
    const [first, second] = language.verb === "first" ? [ask, theirs] : [theirs, ask];
    rules.push({ family: "exfiltration", weight: 0.3, heads: first, tail: then(50, second) });
  }
  const signs = [
    { family: "authority", weight: 0.6, heads: pose },
    { family: "authority", weight: 0.5, heads: language.obey },
    { family: "jailbreak", weight: 0.5, heads: language.imagine },
    { family: "exfiltration", weight: 0.4, heads: theirs },
  ] as const;
  for (const { heads, ...sign } of signs) if (heads !== undefined) rules.push({ ...sign, heads, tail: "" });
  return rules;
}

/** One of these stems, at most `reach` characters later in the same sentence. */
function then(characters: number, stems = ""): string {
  return near(characters) + anyOf(stems);
}

/** A stem stands where a word begins; scripts without blanks between words know no such place. */
function anyOf(stems: string): string {
  return `(?:(?<!${LETTER})(?:${stems}))`;
}

export const RULES: readonly Rule[] = [...ENGLISH, ...Object.values(LANGUAGES).flatMap(rulesOf)];
