/** What is owed, and how it is paid. Keys begin with `account`: an event about money is an event of the account. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";
import { pageOf } from "../../ui/search";

export type Invoice = Schemas["InvoiceView"];
export type Item = Schemas["InvoiceItemView"];
export type Payment = Schemas["PaymentView"];
export type Method = Schemas["PaymentMethodView"];
export type Card = Schemas["CardBody"];

export const invoices = (search: { page?: number } = {}) =>
  queryOptions({ queryKey: ["account", "invoices", search.page ?? 1], queryFn: () => body(api.GET("/account/invoices", { params: { query: pageOf(search) } })) });

export const invoiceById = (id: number) =>
  queryOptions({ queryKey: ["account", "invoice", id], queryFn: () => body(api.GET("/account/invoices/{invoiceId}", { params: { path: { invoiceId: id } } })) });

export const items = (id: number) =>
  queryOptions({
    queryKey: ["account", "invoice", id, "items"],
    queryFn: () => body(api.GET("/account/invoices/{invoiceId}/items", { params: { path: { invoiceId: id }, query: { page_size: 500 } } })),
  });

/** A document of an invoice: fetched with the token, which a plain link would not carry. */
export async function document(id: number, format: "pdf" | "csv"): Promise<Blob> {
  const params = { path: { invoiceId: id } };
  const answer = format === "pdf" ? await api.GET("/account/invoices/{invoiceId}/pdf", { params, parseAs: "blob" }) : await api.GET("/account/invoices/{invoiceId}/csv", { params, parseAs: "blob" });
  return answer.data as Blob;
}

export const payments = (search: { page?: number } = {}) =>
  queryOptions({ queryKey: ["account", "payments", search.page ?? 1], queryFn: () => body(api.GET("/account/payments", { params: { query: pageOf(search) } })) });

export const methods = queryOptions({ queryKey: ["account", "methods"], queryFn: () => body(api.GET("/account/payment-methods")) });

export const pay = (usd: string, method: number | null, cvv: string) =>
  body(api.POST("/account/payments", { body: { usd, ...(method ? { payment_method_id: method } : {}), ...(cvv ? { cvv } : {}) }, params: { header: once() } }));

export const addCard = (card: Card, isDefault: boolean) =>
  body(api.POST("/account/payment-methods", { body: { type: "credit_card", is_default: isDefault, data: card }, params: { header: once() } }));

const path = (id: number) => ({ path: { paymentMethodId: id } });
export const makeDefault = (id: number) => body(api.POST("/account/payment-methods/{paymentMethodId}/make-default", { params: path(id) }));
export const removeMethod = (id: number) => body(api.DELETE("/account/payment-methods/{paymentMethodId}", { params: path(id) }));

export const redeem = (code: string) => body(api.POST("/account/promo-codes", { body: { promo_code: code }, params: { header: once() } }));
