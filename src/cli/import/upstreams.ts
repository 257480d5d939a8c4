/**
 * Where other gateways send calls, as data: what each product calls an upstream, and which provider of Sluice speaks to it.
 * docs/importing.md lists them.
 */
export type Product = "litellm" | "portkey" | "bifrost";

export interface Upstream {
  /** Also the name of its credential. */
  readonly name: string;
  readonly label: string;
  /** The names that the products give it. */
  readonly names: Readonly<Partial<Record<Product, readonly string[]>>>;
  /** Provider key of Sluice; null: it speaks a protocol that no provider here speaks. */
  readonly provider: string | null;
  /** `exact`: a provider of its own. `approximate`: through OpenAI's format. */
  readonly level: "exact" | "approximate" | "unsupported";
  /** undefined: the provider's own address; null: the source must name one. */
  readonly baseUrl?: string | null;
  /** The variable that holds its key by convention. */
  readonly env: string;
  /** Its servers take calls without a key. */
  readonly isKeyOptional?: boolean;
  readonly message: string;
}

type Names = Upstream["names"];

const all = (name: string): Names => ({ litellm: [name], portkey: [name], bifrost: [name] });

function native(name: string, label: string, names: Names, env: string): Upstream {
  const message = `Sluice has a provider for ${label}.`;
  return { name, label, names, provider: name, level: "exact", env, message };
}

interface Address {
  readonly env: string;
  readonly baseUrl: string | null;
  readonly isKeyOptional?: boolean;
}

/** Speaks OpenAI's format under an address of its own. */
function compatible(name: string, label: string, names: Names, address: Address): Upstream {
  const where = address.baseUrl ?? "the address in the source";
  const message = `${label} speaks OpenAI's format: provider \`openai\` with ${where}.`;
  return { name, label, names, provider: "openai", level: "approximate", message, ...address };
}

function unsupported(name: string, label: string, names: Names, why: string): Upstream {
  const message = `${label} ${why}: write a provider plugin (\`sluice init plugin NAME --kind provider\`), or use a server that speaks OpenAI's format in front of it.`;
  return { name, label, names, provider: null, level: "unsupported", env: "", message };
}

const own = (env: string): Address => ({ env, baseUrl: null, isKeyOptional: true });
const at = (baseUrl: string, env: string): Address => ({ baseUrl, env });

export const UPSTREAMS: readonly Upstream[] = [
  native("openai", "OpenAI", all("openai"), "OPENAI_API_KEY"),
  native("anthropic", "Anthropic", all("anthropic"), "ANTHROPIC_API_KEY"),
  native(
    "google",
    "Google Gemini",
    { litellm: ["gemini"], portkey: ["google"], bifrost: ["gemini"] },
    "GEMINI_API_KEY",
  ),
  native(
    "mistral",
    "Mistral",
    { litellm: ["mistral"], portkey: ["mistral-ai"], bifrost: ["mistral"] },
    "MISTRAL_API_KEY",
  ),
  native("groq", "Groq", all("groq"), "GROQ_API_KEY"),
  native("together", "Together", { litellm: ["together_ai"], portkey: ["together-ai"] }, "TOGETHER_API_KEY"),
  {
    ...native("ollama", "Ollama", { ...all("ollama"), litellm: ["ollama_chat", "ollama"] }, "OLLAMA_API_KEY"),
    isKeyOptional: true,
  },
  native("cohere", "Cohere", { ...all("cohere"), litellm: ["cohere", "cohere_chat"] }, "COHERE_API_KEY"),
  {
    ...compatible(
      "azure",
      "Azure OpenAI",
      { litellm: ["azure"], portkey: ["azure-openai"], bifrost: ["azure"] },
      { env: "AZURE_API_KEY", baseUrl: null },
    ),
    message:
      "Azure OpenAI by its v1 API (`https://RESOURCE.openai.azure.com/openai/v1`), which needs no `api_version`; the model is the name of the deployment.",
  },
  {
    ...compatible(
      "azure-ai",
      "Azure AI Foundry",
      { litellm: ["azure_ai"], portkey: ["azure-ai"] },
      { env: "AZURE_AI_API_KEY", baseUrl: null },
    ),
    message: "Azure AI Foundry by its v1 API (`https://RESOURCE.services.ai.azure.com/openai/v1`).",
  },
  compatible(
    "openrouter",
    "OpenRouter",
    all("openrouter"),
    at("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
  ),
  compatible("deepseek", "DeepSeek", all("deepseek"), at("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY")),
  compatible(
    "xai",
    "xAI",
    { litellm: ["xai"], portkey: ["x-ai"], bifrost: ["xai"] },
    at("https://api.x.ai/v1", "XAI_API_KEY"),
  ),
  compatible(
    "perplexity",
    "Perplexity",
    { litellm: ["perplexity"], portkey: ["perplexity-ai"], bifrost: ["perplexity"] },
    at("https://api.perplexity.ai", "PERPLEXITYAI_API_KEY"),
  ),
  compatible(
    "fireworks",
    "Fireworks",
    { litellm: ["fireworks_ai"], portkey: ["fireworks-ai"], bifrost: ["fireworks"] },
    at("https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY"),
  ),
  compatible(
    "deepinfra",
    "DeepInfra",
    { litellm: ["deepinfra"], portkey: ["deepinfra"] },
    at("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
  ),
  compatible("cerebras", "Cerebras", all("cerebras"), at("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY")),
  compatible(
    "nvidia",
    "NVIDIA NIM",
    { litellm: ["nvidia_nim"], portkey: ["nvidia"] },
    at("https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_KEY"),
  ),
  compatible(
    "sambanova",
    "SambaNova",
    { litellm: ["sambanova"], portkey: ["sambanova"] },
    at("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
  ),
  compatible(
    "github-models",
    "GitHub Models",
    { litellm: ["github"], portkey: ["github"] },
    at("https://models.github.ai/inference", "GITHUB_API_KEY"),
  ),
  compatible(
    "moonshot",
    "Moonshot",
    { litellm: ["moonshot"], portkey: ["moonshot"] },
    at("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
  ),
  compatible(
    "dashscope",
    "DashScope",
    { litellm: ["dashscope"], portkey: ["dashscope"] },
    at("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
  ),
  compatible(
    "nebius",
    "Nebius",
    { litellm: ["nebius"], portkey: ["nebius"], bifrost: ["nebius"] },
    at("https://api.studio.nebius.com/v1", "NEBIUS_API_KEY"),
  ),
  compatible(
    "novita",
    "Novita",
    { litellm: ["novita"], portkey: ["novita-ai"] },
    at("https://api.novita.ai/v3/openai", "NOVITA_API_KEY"),
  ),
  compatible(
    "hyperbolic",
    "Hyperbolic",
    { litellm: ["hyperbolic"], portkey: ["hyperbolic"] },
    at("https://api.hyperbolic.xyz/v1", "HYPERBOLIC_API_KEY"),
  ),
  compatible(
    "zai",
    "Z.ai",
    { litellm: ["zai"], portkey: ["z-ai"] },
    at("https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
  ),
  compatible(
    "huggingface",
    "Hugging Face",
    all("huggingface"),
    at("https://router.huggingface.co/v1", "HF_TOKEN"),
  ),
  compatible(
    "codestral",
    "Codestral",
    { litellm: ["codestral"] },
    at("https://codestral.mistral.ai/v1", "CODESTRAL_API_KEY"),
  ),
  compatible(
    "parasail",
    "Parasail",
    { bifrost: ["parasail"] },
    at("https://api.parasail.io/v1", "PARASAIL_API_KEY"),
  ),
  compatible(
    "vllm",
    "vLLM",
    { litellm: ["hosted_vllm", "vllm"], portkey: ["vllm", "self-hosted"], bifrost: ["vllm"] },
    own("VLLM_API_KEY"),
  ),
  compatible("sglang", "SGLang", { bifrost: ["sgl"] }, own("SGLANG_API_KEY")),
  compatible(
    "lm-studio",
    "LM Studio",
    { litellm: ["lm_studio"], portkey: ["lmstudio"] },
    own("LM_STUDIO_API_KEY"),
  ),
  compatible(
    "openai-like",
    "A self-hosted server",
    {
      litellm: ["openai_like", "custom_openai", "litellm_proxy", "llamafile", "xinference"],
      portkey: ["openai-compatible"],
    },
    own("OPENAI_LIKE_API_KEY"),
  ),
  compatible(
    "databricks",
    "Databricks",
    { litellm: ["databricks"], portkey: ["databricks"] },
    { env: "DATABRICKS_API_KEY", baseUrl: null },
  ),
  unsupported(
    "bedrock",
    "AWS Bedrock",
    {
      litellm: ["bedrock", "bedrock_converse"],
      portkey: ["bedrock"],
      bifrost: ["bedrock", "bedrock_mantle"],
    },
    "signs requests with AWS credentials, which no built-in provider does",
  ),
  unsupported(
    "vertex",
    "Google Vertex AI",
    { litellm: ["vertex_ai", "vertex_ai_beta"], portkey: ["vertex-ai"], bifrost: ["vertex"] },
    "takes short-lived access tokens of a service account, which no built-in provider fetches",
  ),
  unsupported(
    "sagemaker",
    "AWS SageMaker",
    { litellm: ["sagemaker", "sagemaker_chat"], portkey: ["sagemaker"] },
    "signs requests with AWS credentials, which no built-in provider does",
  ),
  unsupported(
    "watsonx",
    "IBM watsonx",
    { litellm: ["watsonx", "watsonx_text"], portkey: ["watsonx"] },
    "takes short-lived IAM tokens, which no built-in provider fetches",
  ),
  unsupported(
    "replicate",
    "Replicate",
    { litellm: ["replicate"], portkey: ["replicate"], bifrost: ["replicate"] },
    "runs predictions by a protocol of its own",
  ),
  unsupported(
    "github-copilot",
    "GitHub Copilot",
    { litellm: ["github_copilot"] },
    "signs in by a device login",
  ),
  unsupported(
    "snowflake",
    "Snowflake Cortex",
    { litellm: ["snowflake"], portkey: ["cortex"] },
    "speaks a protocol of its own",
  ),
  unsupported(
    "oracle",
    "Oracle OCI",
    { litellm: ["oci"], portkey: ["oracle"] },
    "signs requests by a method of its own",
  ),
  unsupported(
    "workers-ai",
    "Cloudflare Workers AI",
    { litellm: ["cloudflare"], portkey: ["workers-ai"] },
    "speaks a protocol of its own",
  ),
  unsupported(
    "speech",
    "Speech and image services",
    {
      litellm: ["elevenlabs", "deepgram", "stability", "assemblyai", "voyage", "jina_ai", "infinity"],
      portkey: ["stability-ai", "deepgram", "voyage", "jina"],
      bifrost: ["elevenlabs", "deepgram", "runway", "runware", "sarvam"],
    },
    "do not answer chat completions",
  ),
];

const BY_NAME: Readonly<Record<Product, ReadonlyMap<string, Upstream>>> = {
  litellm: namesOf("litellm"),
  portkey: namesOf("portkey"),
  bifrost: namesOf("bifrost"),
};

function namesOf(product: Product): ReadonlyMap<string, Upstream> {
  return new Map(
    UPSTREAMS.flatMap((upstream) => (upstream.names[product] ?? []).map((name) => [name, upstream] as const)),
  );
}

export function findUpstream(product: Product, name: string): Upstream | undefined {
  return BY_NAME[product].get(name.toLowerCase());
}

/** Azure's resources in the form of their v1 API; other addresses as they are. */
export function azureBaseUrl(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, host, pathname } = new URL(url);
  if (/\/openai\/v1\/?$/.test(pathname)) return url.replace(/\/$/, "");
  return /\.(?:openai|services\.ai|cognitiveservices)\.azure\.(?:com|us|cn)$/i.test(host)
    ? `${protocol}//${host}/openai/v1`
    : url.replace(/\/$/, "");
}
