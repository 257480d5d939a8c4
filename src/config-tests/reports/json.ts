/** A run as JSON. Every key is always there. */
import type { SourcePlace } from "../../config/model.ts";
import { counts, mutationsOf, type RunResults } from "../results.ts";
import { shortPath } from "./paths.ts";

export function renderJsonReport(results: RunResults, cwd: string): string {
  const { passed, failed } = counts(results);
  const at = ({ file, line, column }: SourcePlace) => ({ file: shortPath(cwd, file), line, column });
  const { coverage } = results;
  const mutations = mutationsOf(results);
  const report = {
    ...{ ok: failed === 0, passed, failed, duration_ms: Math.round(results.durationMs) },
    cases: results.cases.map(({ name, place, failures, durationMs, trace }) => ({
      ...{ name, ...at(place), ok: failures.length === 0, duration_ms: Math.round(durationMs * 1000) / 1000 },
      failures: failures.map((failure) => ({
        ...{ path: failure.path, ...at(failure.place) },
        ...{ expected: failure.expected ?? null, actual: failure.actual ?? null },
        message: failure.message ?? null,
      })),
      trace,
    })),
    snapshots_written: results.written.map((file) => shortPath(cwd, file)),
    coverage: coverage && {
      ...{ covered: coverage.covered, all: coverage.all, percent: coverage.percent },
      uncovered: coverage.uncovered.map(({ protection, missing, place }) => ({
        protection,
        missing,
        ...at(place),
      })),
    },
    mutations: mutations && {
      all: mutations.all,
      survived: mutations.survived.map(({ protection, isTouched, place }) => ({
        ...{ protection, touched: isTouched, ...at(place) },
      })),
    },
  };
  return `${JSON.stringify({ ...report, coverage: report.coverage ?? null, mutations: report.mutations ?? null }, null, 2)}\n`;
}
