/** The only file that names what ships: every built-in stage, guardrail and provider, through the public door. */
import authenticate from "../../plugins/authenticate.ts";
import budget from "../../plugins/budget.ts";
import call from "../../plugins/call.ts";
import check from "../../plugins/check.ts";
import contentLength from "../../plugins/content-length.ts";
import keywordBlocklist from "../../plugins/keyword-blocklist.ts";
import limit from "../../plugins/limit.ts";
import patterns from "../../plugins/patterns.ts";
import pii from "../../plugins/pii.ts";
import prepare from "../../plugins/prepare.ts";
import promptInjection from "../../plugins/prompt-injection.ts";
import record from "../../plugins/record.ts";
import secrets from "../../plugins/secrets.ts";
import validate from "../../plugins/validate.ts";
import webhook from "../../plugins/webhook.ts";
import anthropic from "../../providers/anthropic.ts";
import cohere from "../../providers/cohere.ts";
import google from "../../providers/google.ts";
import groq from "../../providers/groq.ts";
import mistral from "../../providers/mistral.ts";
import mock from "../../providers/mock.ts";
import ollama from "../../providers/ollama.ts";
import openai from "../../providers/openai.ts";
import together from "../../providers/together.ts";
import type { Plugin } from "../plugin/index.ts";

export const BUILT_IN: readonly Plugin[] = [
  authenticate,
  limit,
  budget,
  contentLength,
  keywordBlocklist,
  patterns,
  pii,
  promptInjection,
  secrets,
  webhook,
  validate,
  prepare,
  call,
  check,
  record,
  openai,
  anthropic,
  google,
  mistral,
  groq,
  together,
  ollama,
  cohere,
  mock,
];
