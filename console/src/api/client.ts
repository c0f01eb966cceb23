/** The one way to the API: typed by its description, signed with the session's token, failing with `Refused`. */
import createClient, { type Middleware } from "openapi-fetch";

import { session } from "../session/session";
import { Refused } from "./errors";
import type { components, paths } from "./schema";

export { filter } from "./filter";

export type Schemas = components["schemas"];
export type Instance = Schemas["InstanceView"];
export type Event = Schemas["EventView"];
export type Planned = Schemas["PlanView"];
export type Plan = Planned["plan"];

/** The same for everybody, so nobody has to be signed in first. */
const PUBLIC: readonly string[] = ["/compute/types", "/compute/types-legacy", "/regions"] satisfies (keyof paths)[];

const signed: Middleware = {
  async onRequest({ request, schemaPath }) {
    if (PUBLIC.includes(schemaPath)) return request;
    const token = await session.token();
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
  async onResponse({ request, response }) {
    if (response.ok) return response;
    if (response.status === 401 && session.signedIn) session.lost();
    throw await Refused.from(response, request);
  },
};

/** The console knows the interface's own words alone: a server that speaks a dialect answers it without. */
export const OWN_WORDS = { "X-Dialect": "none" } as const;

export const api = createClient<paths>({ baseUrl: "/v4", headers: OWN_WORDS });
api.use(signed);

/** The body of a success. Failures have been thrown before; a plan is answered only to who asks with `planned`. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<Exclude<T, Planned>> {
  return (await call).data as Exclude<T, Planned>;
}

/** What a write would do and cost: the call must have been sent with `ASK_FIRST`. */
export async function planned(call: Promise<{ data?: unknown }>): Promise<Plan> {
  return ((await call).data as Planned).plan;
}

/** Options of calls that are in beta, and so only there: `api.GET("/networking/vlans", { ...BETA })`. */
export const BETA = { baseUrl: "/v4beta" } as const;

/** Headers that turn a write into a question: nothing is done, the answer says what would be. */
export const ASK_FIRST = { Prefer: "plan" } as const;

/** A name for one attempt at a write, so that trying again never does it twice. */
export const once = (): { "Idempotency-Key": string } => ({ "Idempotency-Key": crypto.randomUUID() });
