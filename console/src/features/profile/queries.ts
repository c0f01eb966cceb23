/** Who is signed in, what their grants allow, and what is theirs alone: tokens, keys, apps, browsers. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";

export type Profile = Schemas["ProfileView"];
export type Token = Schemas["TokenView"];
export type App = Schemas["AuthorizedAppView"];
export type SshKey = Schemas["SshkeysSshKeyView"];
export type Device = Schemas["TrustedDeviceView"];
export type Login = Schemas["LoginView"];
export type Preferences = Record<string, unknown>;

export const profile = queryOptions({ queryKey: ["profile", "view"], queryFn: () => body(api.GET("/profile")) });

/** Of a restricted user; an unrestricted one has no grants, and may do everything: null. */
export const grants = queryOptions({
  queryKey: ["profile", "grants"],
  queryFn: async () => (await body(api.GET("/profile/grants"))) ?? null,
});

const ALL = { params: { query: { page_size: 500 } } } as const;
export const tokens = queryOptions({ queryKey: ["profile", "tokens"], queryFn: () => body(api.GET("/profile/tokens", ALL)) });
export const apps = queryOptions({ queryKey: ["profile", "apps"], queryFn: () => body(api.GET("/profile/apps", ALL)) });
export const sshKeys = queryOptions({ queryKey: ["profile", "keys"], queryFn: () => body(api.GET("/profile/sshkeys", ALL)) });
export const devices = queryOptions({ queryKey: ["profile", "devices"], queryFn: () => body(api.GET("/profile/devices", ALL)) });
export const logins = queryOptions({ queryKey: ["profile", "logins"], queryFn: () => body(api.GET("/profile/logins", { params: { query: { page_size: 100 } } })) });
export const preferences = queryOptions({ queryKey: ["profile", "preferences"], queryFn: async () => (await body(api.GET("/profile/preferences"))) as Preferences });

export const change = (wanted: Schemas["ProfileUpdate"]) => body(api.PUT("/profile", { body: wanted }));
/** What other clients keep there stays: the object is replaced as a whole. */
export const prefer = async (wanted: Preferences) => {
  const kept = (await body(api.GET("/profile/preferences"))) as Preferences;
  return body(api.PUT("/profile/preferences", { body: { ...kept, ...wanted } as never }));
};

export const makeToken = (wanted: Schemas["TokenCreate"]) => body(api.POST("/profile/tokens", { body: wanted, params: { header: once() } }));
export const renameToken = (id: number, label: string) => body(api.PUT("/profile/tokens/{tokenId}", { params: { path: { tokenId: id } }, body: { label } }));
export const revokeToken = (id: number) => body(api.DELETE("/profile/tokens/{tokenId}", { params: { path: { tokenId: id } } }));
export const revokeApp = (id: number) => body(api.DELETE("/profile/apps/{appId}", { params: { path: { appId: id } } }));
export const addKey = (wanted: Schemas["SshKeyCreate"]) => body(api.POST("/profile/sshkeys", { body: wanted, params: { header: once() } }));
export const renameKey = (id: number, label: string) => body(api.PUT("/profile/sshkeys/{keyId}", { params: { path: { keyId: id } }, body: { label } }));
export const removeKey = (id: number) => body(api.DELETE("/profile/sshkeys/{keyId}", { params: { path: { keyId: id } } }));
export const forgetDevice = (id: number) => body(api.DELETE("/profile/devices/{deviceId}", { params: { path: { deviceId: id } } }));
export const beginTwoFactor = () => body(api.POST("/profile/tfa-enable"));
export const confirmTwoFactor = (code: string) => body(api.POST("/profile/tfa-enable-confirm", { body: { tfa_code: code } }));
export const endTwoFactor = () => body(api.POST("/profile/tfa-disable"));
