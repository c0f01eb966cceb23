/** Questions and orders about images. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";
import { listCall, type ListSearch } from "../../ui/search";

export type Image = Schemas["ImageView"];
/** `kind` is `public` for the server's own; without it they are the account's. */
export type Search = ListSearch<"kind">;

export const images = (search: Search = {}) =>
  queryOptions({
    queryKey: ["images", "list", search],
    queryFn: () => body(api.GET("/images", { params: listCall(search, ["label"], { is_public: search.kind === "public" }) })),
  });

export const disks = (computeId: number) =>
  queryOptions({
    queryKey: ["instances", "one", computeId, "disks"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/disks", { params: { path: { computeId } } })),
  });

export const create = (wanted: Schemas["ImageCreate"]) => body(api.POST("/images", { body: wanted, params: { header: once() } }));
export const prepareUpload = (wanted: Schemas["ImageUpload"]) => body(api.POST("/images/upload", { body: wanted, params: { header: once() } }));
export const update = (id: string, change: Schemas["ImageUpdate"]) => body(api.PUT("/images/{imageId}", { params: { path: { imageId: id } }, body: change }));
export const remove = (id: string) => body(api.DELETE("/images/{imageId}", { params: { path: { imageId: id } } }));

/**
 * Send the file to the address that was given for it. It goes to the server that this page is from, whatever name the
 * address has; fetch does not tell how far a file is, so this is the older way.
 */
export function sendFile(uploadTo: string, file: File, onProgress: (percent: number) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", new URL(uploadTo).pathname);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => onProgress(total ? Math.floor((loaded / total) * 100) : 0);
    request.onload = () => (request.status < 300 ? resolve() : reject(new Error(reasonOf(request.responseText) ?? `The server answered ${request.status}`)));
    request.onerror = () => reject(new Error("The line broke before the file was sent."));
    request.onabort = () => reject(new Error("Stopped."));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

function reasonOf(answer: string): string | undefined {
  try {
    return (JSON.parse(answer) as { errors?: { reason: string }[] }).errors?.map(({ reason }) => reason).join(" ");
  } catch {
    return undefined;
  }
}
