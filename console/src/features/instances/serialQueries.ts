/** The serial console: where it is joined. The token in the address is good for a minute, so each time a new one. */
import { api, body } from "../../api/client";

export const serialPath = async (id: number): Promise<string> => {
  const { lish_token } = await body(api.POST("/compute/instances/{computeId}/lish_token", { params: { path: { computeId: id } } }));
  return `/lish/${lish_token}`;
};
