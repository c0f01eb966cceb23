/** Questions and orders about the users of an account, and what each may do. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";
import { listCall, type ListSearch } from "../../ui/search";

export type User = Schemas["UserView"];
export type Grants = Schemas["GrantsView"];
export type Login = Schemas["LoginView"];
export type Change = Schemas["GrantsUpdate"];

export const users = (search: ListSearch = {}) =>
  queryOptions({
    queryKey: ["users", "list", search],
    queryFn: () => body(api.GET("/account/users", { params: listCall(search, ["username"]) })),
  });

const at = (username: string) => ({ params: { path: { username } } });
export const userByName = (name: string) => queryOptions({ queryKey: ["users", "one", name, "view"], queryFn: () => body(api.GET("/account/users/{username}", at(name))) });
/** An unrestricted user has none: null. */
export const grantsOf = (name: string) => queryOptions({ queryKey: ["users", "one", name, "grants"], queryFn: async () => (await body(api.GET("/account/users/{username}/grants", at(name)))) ?? null });
export const logins = queryOptions({ queryKey: ["users", "logins"], queryFn: () => body(api.GET("/account/logins", { params: { query: { page_size: 500 } } })) });

export const invite = (wanted: Schemas["UserCreate"]) => body(api.POST("/account/users", { body: wanted, params: { header: once() } }));
export const change = (name: string, wanted: Schemas["UserUpdate"]) => body(api.PUT("/account/users/{username}", { ...at(name), body: wanted }));
export const remove = (name: string) => body(api.DELETE("/account/users/{username}", at(name)));
export const grant = (name: string, wanted: Change) => body(api.PUT("/account/users/{username}/grants", { ...at(name), body: wanted }));
