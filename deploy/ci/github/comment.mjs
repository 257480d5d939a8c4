// Puts the plan into the pull request: one comment, updated in place. A token that may not write (a fork's) is no failure,
// since the job summary has the plan.
import { readFileSync } from "node:fs";

const { GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN, PULL_REQUEST } = process.env;
const PAGES_MAX = 10;
const TIMEOUT_MS = 30_000;

const body = readFileSync(process.argv[2], "utf8");
const [marker] = body.split("\n", 1);
const comments = `${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/issues/${PULL_REQUEST}/comments`;

async function github(method, url, content) {
  const response = await fetch(url, {
    method,
    headers: {
      Accept: "application/vnd.github+json",
      Authorization: `Bearer ${GITHUB_TOKEN}`,
      "Content-Type": "application/json",
      "X-GitHub-Api-Version": "2022-11-28",
    },
    body: content && JSON.stringify(content),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.status === 401 || response.status === 403 || response.status === 404) {
    console.log(`The token may not write comments (${response.status}): the job summary has the plan.`);
    process.exit(0);
  }
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

async function ownComment() {
  for (let page = 1; page <= PAGES_MAX; page++) {
    const found = await github("GET", `${comments}?per_page=100&page=${page}`);
    const own = found.find((comment) => comment.body?.startsWith(marker));
    if (own !== undefined || found.length < 100) return own;
  }
  return undefined;
}

const own = await ownComment();
if (own === undefined) await github("POST", comments, { body });
else await github("PATCH", own.url, { body });
console.log(
  own === undefined ? "The plan was added as a comment." : "The comment with the plan was updated.",
);
