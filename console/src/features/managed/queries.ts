/** Questions and orders about the managed service: what is watched, what went wrong, who is told. */
import { queryOptions } from "@tanstack/react-query";

import { api, ASK_FIRST, body, once, planned, type Schemas } from "../../api/client";

export type Service = Schemas["ServiceView"];
export type Issue = Schemas["IssueView"];
export type Contact = Schemas["ContactView"];
export type Credential = Schemas["CredentialView"];
export type WantedService = Schemas["ServiceCreate"];
export type WantedContact = Schemas["ContactBody"];

const all = { params: { query: { page_size: 500 } } };
export const services = queryOptions({ queryKey: ["managed", "services"], queryFn: () => body(api.GET("/managed/services", all)), refetchInterval: 60_000 });
export const issues = queryOptions({ queryKey: ["managed", "issues"], queryFn: () => body(api.GET("/managed/issues", all)), refetchInterval: 60_000 });
export const contacts = queryOptions({ queryKey: ["managed", "contacts"], queryFn: () => body(api.GET("/managed/contacts", all)) });
export const credentials = queryOptions({ queryKey: ["managed", "credentials"], queryFn: () => body(api.GET("/managed/credentials", all)) });
export const sshKey = queryOptions({ queryKey: ["managed", "sshkey"], queryFn: () => body(api.GET("/managed/credentials/sshkey")) });

export const enablePlan = queryOptions({ queryKey: ["plan", "managed"], queryFn: () => planned(api.POST("/account/settings/managed-enable", { params: { header: ASK_FIRST } })) });
export const enable = () => body(api.POST("/account/settings/managed-enable", { params: { header: once() } }));

const service = (id: number) => ({ path: { serviceId: id } });
export const addService = (wanted: WantedService) => body(api.POST("/managed/services", { body: wanted, params: { header: once() } }));
export const changeService = (id: number, wanted: Schemas["ServiceUpdate"]) => body(api.PUT("/managed/services/{serviceId}", { body: wanted, params: service(id) }));
export const removeService = (id: number) => body(api.DELETE("/managed/services/{serviceId}", { params: service(id) }));
export const pauseService = (id: number) => body(api.POST("/managed/services/{serviceId}/disable", { params: service(id) }));
export const resumeService = (id: number) => body(api.POST("/managed/services/{serviceId}/enable", { params: service(id) }));

export const addContact = (wanted: WantedContact) => body(api.POST("/managed/contacts", { body: wanted, params: { header: once() } }));
export const changeContact = (id: number, wanted: WantedContact) => body(api.PUT("/managed/contacts/{contactId}", { body: wanted, params: { path: { contactId: id } } }));
export const removeContact = (id: number) => body(api.DELETE("/managed/contacts/{contactId}", { params: { path: { contactId: id } } }));

const credential = (id: number) => ({ path: { credentialId: id } });
export const addCredential = (wanted: Schemas["CredentialCreate"]) => body(api.POST("/managed/credentials", { body: wanted, params: { header: once() } }));
export const renameCredential = (id: number, label: string) => body(api.PUT("/managed/credentials/{credentialId}", { body: { label }, params: credential(id) }));
export const replaceSecrets = (id: number, secrets: Schemas["CredentialSecrets"]) => body(api.POST("/managed/credentials/{credentialId}/update", { body: secrets, params: credential(id) }));
export const revokeCredential = (id: number) => body(api.POST("/managed/credentials/{credentialId}/revoke", { params: credential(id) }));
