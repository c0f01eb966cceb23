// The life of an instance through a generated client: created, listed, waited for, deleted.
// Arguments: the address with the version, a token, and the address that lets pending work finish.

import createClient from "openapi-fetch";
import type { components, paths } from "./interface.js";

declare const process: { argv: string[] };

const [baseUrl = "", token = "", settle = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

function done<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) throw new Error(`${answer.response.status} ${JSON.stringify(answer.error)}`);
  return answer.data;
}

// Every field with a default may be left out.
const body = { type: "g6-nanode-1", region: "us-east", image: "compute/debian11", root_pass: "correct-Horse-7-battery" };

const answered: unknown = done(await client.POST("/compute/instances", { body, params: { header: { Prefer: "plan" } } }));
if (!(answered as components["schemas"]["PlanView"]).plan.valid) throw new Error("a plan was asked for");

const made = done(await client.POST("/compute/instances", { body, params: { header: { "Idempotency-Key": "life" } } }));
const path = { computeId: made.id };

const page = done(await client.GET("/compute/instances", { params: { query: { page_size: 25 } } }));
if (page.results !== 1 || page.data[0]?.id !== made.id) throw new Error(`listed: ${JSON.stringify(page)}`);

async function status(): Promise<string> {
  return done(await client.GET("/compute/instances/{computeId}", { params: { path } })).status;
}

await fetch(settle, { method: "POST" });
for (let tries = 0; (await status()) !== "running"; tries++) {
  if (tries === 30) throw new Error(`it is ${await status()}`);
  await client.GET("/account/events", { params: { query: { after: 10 ** 15, wait: 1 } } });
}

done(await client.DELETE("/compute/instances/{computeId}", { params: { path } }));
await fetch(settle, { method: "POST" });
const gone = await client.GET("/compute/instances/{computeId}", { params: { path } });
if (gone.response.status !== 404 || gone.error === undefined) throw new Error(`after: ${gone.response.status}`);
console.log(gone.error.errors.map((error) => error.reason).join());
