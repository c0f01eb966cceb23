/** Questions and orders about apps of this account that others sign in to. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";
import { listCall, type ListSearch } from "../../ui/search";

export type Client = Schemas["OAuthClientView"];

export const clients = (search: ListSearch = {}) =>
  queryOptions({
    queryKey: ["oauthClients", "list", search],
    queryFn: () => body(api.GET("/account/oauth-clients", { params: listCall(search, ["label"]) })),
  });

const at = (clientId: string) => ({ params: { path: { clientId } } });
export const clientById = (id: string) => queryOptions({ queryKey: ["oauthClients", "one", id], queryFn: () => body(api.GET("/account/oauth-clients/{clientId}", at(id))) });

export const create = (wanted: Schemas["OAuthClientCreate"]) => body(api.POST("/account/oauth-clients", { body: wanted, params: { header: once() } }));
export const change = (id: string, wanted: Schemas["OAuthClientUpdate"]) => body(api.PUT("/account/oauth-clients/{clientId}", { ...at(id), body: wanted }));
export const remove = (id: string) => body(api.DELETE("/account/oauth-clients/{clientId}", at(id)));
export const resetSecret = (id: string) => body(api.POST("/account/oauth-clients/{clientId}/reset-secret", at(id)));
export const sendThumbnail = (id: string, picture: File) =>
  body(api.PUT("/account/oauth-clients/{clientId}/thumbnail", { ...at(id), body: picture as never, bodySerializer: (content: unknown) => content as Blob, headers: { "Content-Type": picture.type } }));
