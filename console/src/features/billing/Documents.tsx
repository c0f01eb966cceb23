/** An invoice as a file. A link would not carry the token, so it is fetched and handed over. */
import { ActionIcon, Button, Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";

import { download } from "../../ui/csv";
import { Icon } from "../../ui/Icon";
import { document, type Invoice } from "./queries";

type Format = "pdf" | "csv";
const TYPES: Record<Format, string> = { pdf: "application/pdf", csv: "text/csv;charset=utf-8" };

export function Documents({ invoice, small = false }: { invoice: Invoice; small?: boolean }) {
  const [busy, setBusy] = useState<Format | null>(null);
  async function save(format: Format): Promise<void> {
    setBusy(format);
    try {
      download(`invoice-${invoice.id}.${format}`, await document(invoice.id, format), TYPES[format]);
    } catch (error) {
      notifications.show({ title: `Invoice as ${format.toUpperCase()}`, message: (error as Error).message, color: "red.8" });
    } finally {
      setBusy(null);
    }
  }
  if (small)
    return (
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Save ${invoice.label}`} loading={busy !== null}>
            <Icon name="download" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void save("pdf")}>PDF</Menu.Item>
          <Menu.Item onClick={() => void save("csv")}>CSV</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    );
  return (
    <>
      <Button variant="default" onClick={() => print()} leftSection={<Icon name="receipt" size={16} />}>
        Print
      </Button>
      <Button variant="default" loading={busy === "csv"} onClick={() => void save("csv")} leftSection={<Icon name="download" size={16} />}>
        CSV
      </Button>
      <Button loading={busy === "pdf"} onClick={() => void save("pdf")} leftSection={<Icon name="download" size={16} />}>
        PDF
      </Button>
    </>
  );
}
