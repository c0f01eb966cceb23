// Three calls through a client of swagger-typescript-api: the regions, a new tag, and the same tag again, which is refused.
// Arguments: the address with the version, and a token.

import { Api, type Errors, type HttpResponse } from "./client";

declare const process: { argv: string[] };

const [baseUrl = "", token = ""] = process.argv.slice(2);

async function calls(): Promise<void> {
  const regions = await new Api({ baseUrl }).regions.listRegions();
  console.log(regions.data.data.map((region) => region.id).sort().join());

  const client = new Api<string>({
    baseUrl,
    securityWorker: (data) => ({ headers: { Authorization: `Bearer ${data}` } }),
  });
  client.setSecurityData(token);
  const body = { label: "garden" };
  const made = await client.tags.createTag(body);
  console.log(made.data.label);

  const refused = await client.tags.createTag(body).then(
    () => undefined,
    (response: HttpResponse<unknown, Errors>) => response.error,
  );
  if (refused === undefined) throw new Error("the same tag was created again");
  for (const error of refused.errors) console.log(`${error.field}: ${error.reason}`);
}

void calls();
