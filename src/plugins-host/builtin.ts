/** The only file that names what ships: every built-in stage, guardrail, provider and store. */
import authenticate from "../../plugins/authenticate/index.ts";
import budget from "../../plugins/budget/index.ts";
import call from "../../plugins/call/index.ts";
import check from "../../plugins/check/index.ts";
import contentLength from "../../plugins/content-length/index.ts";
import keywordBlocklist from "../../plugins/keyword-blocklist/index.ts";
import limit from "../../plugins/limit/index.ts";
import patterns from "../../plugins/patterns/index.ts";
import pii from "../../plugins/pii/index.ts";
import prepare from "../../plugins/prepare/index.ts";
import promptInjection from "../../plugins/prompt-injection/index.ts";
import record from "../../plugins/record/index.ts";
import secrets from "../../plugins/secrets/index.ts";
import validate from "../../plugins/validate/index.ts";
import webhook from "../../plugins/webhook/index.ts";
import anthropic from "../../providers/anthropic.ts";
import cohere from "../../providers/cohere.ts";
import google from "../../providers/google.ts";
import groq from "../../providers/groq.ts";
import mistral from "../../providers/mistral.ts";
import mock from "../../providers/mock.ts";
import ollama from "../../providers/ollama.ts";
import openai from "../../providers/openai.ts";
import together from "../../providers/together.ts";
import type { Plugin } from "../plugin/contract.ts";
import { STORES } from "../state/stores.ts";

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
  ...STORES,
];
