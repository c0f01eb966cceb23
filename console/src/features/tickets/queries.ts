/** Questions and orders about tickets. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, filter, once, type Schemas } from "../../api/client";
import { type ListSearch, orderOf, pageOf } from "../../ui/search";

export type Ticket = Schemas["TicketView"];
export type Reply = Schemas["ReplyView"];
export type Wanted = Schemas["TicketCreate"];
export type Search = ListSearch<"status">;

/** What the server takes: said before somebody chooses a file. */
export const LIMITS = { bytes: 5 * 1024 * 1024, kinds: [".gif", ".jpg", ".jpeg", ".pjpg", ".pjpeg", ".tif", ".tiff", ".png", ".pdf", ".txt"] } as const;

/** Why a file would not be taken; undefined if it would, as far as its name and size tell. */
export function unfit(file: File): string | undefined {
  const name = file.name.toLowerCase();
  if (!LIMITS.kinds.some((kind) => name.endsWith(kind))) return `${file.name}: only pictures, .pdf and .txt are taken`;
  if (file.size > LIMITS.bytes) return `${file.name}: larger than 5 MB`;
  return file.size === 0 ? `${file.name}: the file is empty` : undefined;
}

export const isOpen = (ticket: Ticket): boolean => ticket.status !== "closed";

/** The server lists open ones first, unless it is told an order. */
export const tickets = (search: Search = {}) =>
  queryOptions({
    queryKey: ["tickets", "list", search],
    queryFn: () => {
      const wanted = search.status === "open" ? { closed: null } : search.status === "closed" ? { closed: { "+neq": null } } : {};
      return body(api.GET("/support/tickets", { params: { query: pageOf(search), header: filter({ ...wanted, ...orderOf(search.order) }) } }));
    },
  });

const path = (id: number) => ({ path: { ticketId: id } });

export const ticketById = (id: number) => queryOptions({ queryKey: ["tickets", "one", id, "view"], queryFn: () => body(api.GET("/support/tickets/{ticketId}", { params: path(id) })) });

export const replies = (id: number) =>
  queryOptions({ queryKey: ["tickets", "one", id, "replies"], queryFn: () => body(api.GET("/support/tickets/{ticketId}/replies", { params: { ...path(id), query: { page_size: 100 } } })) });

export const open = (wanted: Wanted) => body(api.POST("/support/tickets", { body: wanted, params: { header: once() } }));
export const close = (id: number) => body(api.POST("/support/tickets/{ticketId}/close", { params: path(id) }));
export const reply = (id: number, description: string) => body(api.POST("/support/tickets/{ticketId}/replies", { body: { description }, params: { ...path(id), header: once() } }));

export function attach(id: number, file: File) {
  const form = new FormData();
  form.set("file", file);
  return body(api.POST("/support/tickets/{ticketId}/attachments", { params: path(id), body: form as never, bodySerializer: (sent) => sent as unknown as FormData }));
}

export async function attachment(id: number, filename: string): Promise<Blob> {
  const answer = await api.GET("/support/tickets/{ticketId}/attachments/{filename}", { params: { path: { ticketId: id, filename } }, parseAs: "blob" });
  return answer.data as unknown as Blob;
}
