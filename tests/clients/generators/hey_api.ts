// Three calls through a client of hey-api: the regions, a new tag, and the same tag again, which is refused.
// Arguments: the address with the version, and a token.

import { createTag, listRegions } from "./client";
import { createClient, createConfig } from "./client/client";

declare const process: { argv: string[] };

const [baseUrl = "", token = ""] = process.argv.slice(2);

async function calls(): Promise<void> {
  const visitor = createClient(createConfig({ baseUrl }));
  const regions = await listRegions({ client: visitor, throwOnError: true });
  console.log(regions.data.data.map((region) => region.id).sort().join());

  const client = createClient(createConfig({ baseUrl, auth: token }));
  const body = { label: "garden" };
  const made = await createTag({ client, body, throwOnError: true });
  console.log(made.data.label);

  const refused = await createTag({ client, body });
  if (refused.error === undefined) throw new Error("the same tag was created again");
  for (const error of refused.error.errors) console.log(`${error.field}: ${error.reason}`);
}

void calls();
