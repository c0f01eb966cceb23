// Three calls through a fetch client of orval: the regions, a new tag, and the same tag again, which is refused.
// Arguments: the address with the version, and a token.

import { createTag, listRegions } from "./client";

declare const process: { argv: string[] };

const options = { headers: { Authorization: `Bearer ${process.argv[3] ?? ""}` } };

async function calls(): Promise<void> {
  const regions = await listRegions();
  if (regions.status !== 200) throw new Error(`the regions: ${regions.status}`);
  console.log(regions.data.data.map((region) => region.id).sort().join());

  const body = { label: "garden" };
  const made = await createTag(body, options);
  if (made.status !== 200) throw new Error(`the tag: ${made.status}`);
  console.log(made.data.label);

  const refused = await createTag(body, options);
  if (refused.status !== 400) throw new Error(`the same tag again: ${refused.status}`);
  for (const error of refused.data.errors) console.log(`${error.field}: ${error.reason}`);
}

void calls();
