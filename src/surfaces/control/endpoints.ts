/** Control-plane tools for projects and endpoints: list, activate and deactivate. */
import type { JsonMap } from "../../base/json.ts";
import type { ProjectConfig } from "../../config/model.ts";
import { structured } from "../jsonrpc/jsonrpc.ts";
import {
  type ControlTool,
  changing,
  noSuchProject,
  ofProject,
  PROJECT_UUID,
  projectOf,
  refusedArgument,
  textOf,
} from "./tool.ts";

const TYPES = ["ai_gateway", "ai_wrapper", "proxy"];

export const listProjects: ControlTool = {
  name: "gw_list_projects",
  title: "List projects",
  description: "All projects, or those of one type.",
  args: { project_type: { type: "string", enum: TYPES, description: "Only projects of this type." } },
  required: [],
  effect: "reads",
  isIdempotent: true,
  run(ctx, { project_type: wanted }) {
    const projects = ctx.config().projects.filter(({ type }) => wanted === undefined || type === wanted);
    return structured({
      projects: projects.map(({ uuid, id, name, type, endpoints, aliases, proxy_endpoints, tokens }) => ({
        ...{ uuid, id, name, type },
        endpoints: endpoints.length + aliases.length + proxy_endpoints.length,
        tokens: tokens.length,
      })),
    });
  },
};

export const listEndpoints: ControlTool = {
  name: "gw_list_endpoints",
  title: "List endpoints",
  description: "The endpoints of a project, in the order of its configuration.",
  args: { project_uuid: PROJECT_UUID },
  required: ["project_uuid"],
  effect: "reads",
  isIdempotent: true,
  run: ofProject((project) => structured({ endpoints: endpointsOf(project) })),
};

/** Proxy endpoints have only a slug; aliases cannot be deactivated. */
function endpointsOf({ endpoints, proxy_endpoints }: ProjectConfig): readonly JsonMap[] {
  return [
    ...endpoints.map(({ uuid, name, slug, is_active, expose_as_mcp_tool, provider, model }) => ({
      ...{ uuid, name, slug, is_active, expose_as_mcp_tool, provider, model },
    })),
    ...proxy_endpoints.map(({ slug, is_active }) => ({ name: slug, slug, is_active })),
  ];
}

export const setEndpointActive: ControlTool = {
  name: "gw_set_endpoint_active",
  title: "Activate or deactivate an endpoint",
  description:
    "An inactive endpoint answers 404. In effect until git changes the endpoint's `is_active`. Setting the same value again succeeds.",
  args: {
    project_uuid: PROJECT_UUID,
    slug: { type: "string", description: "Slug of the endpoint." },
    is_active: { type: "boolean", description: "true: the endpoint answers calls." },
  },
  required: ["project_uuid", "slug", "is_active"],
  effect: "changes",
  isIdempotent: true,
  run: changing(({ edits, standing, running, author }, args) => {
    const project = projectOf(running, args);
    if (project === undefined) return noSuchProject(args);
    const asked = textOf(args, "slug");
    const isActive = args["is_active"] === true;
    const isAsked = (one: { readonly slug: string; readonly moved_from: string | null }): boolean =>
      one.slug === asked || one.moved_from === asked;
    const endpoint = project.endpoints.find(isAsked);
    const known = endpoint ?? project.proxy_endpoints.find(isAsked);
    if (known === undefined)
      return refusedArgument("slug", `there is no endpoint '${asked.slice(0, 128)}' in this project`);
    const { slug } = known;
    const kind = endpoint === undefined ? "proxy_endpoint" : "endpoint";
    return {
      edit: edits.setEndpointActive(standing, project.uuid, { slug, isActive }, author),
      event:
        known.is_active === isActive
          ? undefined
          : switchedEvent(project, { kind, slug, isActive, name: endpoint?.name ?? slug }),
      content: { project_uuid: project.uuid, slug, is_active: isActive },
    };
  }),
};

interface Switched {
  readonly kind: string;
  readonly slug: string;
  readonly name: string;
  readonly isActive: boolean;
}

function switchedEvent(project: ProjectConfig, { kind, slug, name, isActive }: Switched) {
  const metadata = { kind, slug, fields: ["is_active"] };
  return isActive
    ? { event: "endpoint.updated", severity: "info" as const, project, target: name, metadata }
    : { event: "endpoint.deactivated", severity: "warn" as const, project, target: name, metadata };
}
