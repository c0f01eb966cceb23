/** What a load balancer does at one port. */
import { NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";

import { Fields, useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { type Config, createConfig, updateConfig, type WantedConfig } from "./queries";

const options = (given: Record<string, string>) => Object.entries(given).map(([value, label]) => ({ value, label }));
const PROTOCOLS = options({ http: "HTTP", https: "HTTPS", tcp: "TCP" });
const ALGORITHMS = options({ roundrobin: "One after the other", leastconn: "Fewest connections", source: "By the address of the caller" });
const STICKINESS = options({ none: "Any node each time", table: "Same node, by address", http_cookie: "Same node, by cookie" });
const CHECKS = options({ none: "None", connection: "It accepts a connection", http: "It answers a path", http_body: "Its answer holds a text" });

export function ConfigDialog({ id, config, onClose, onDone }: { id: number; config?: Config; onClose: () => void; onDone: () => unknown }) {
  const form = useForm({
    initialValues: {
      port: config?.port ?? 80,
      protocol: config?.protocol ?? "http",
      algorithm: config?.algorithm ?? "roundrobin",
      stickiness: config?.stickiness ?? "table",
      check: config?.check ?? "connection",
      check_interval: config?.check_interval ?? 5,
      check_timeout: config?.check_timeout ?? 3,
      check_attempts: config?.check_attempts ?? 2,
      check_path: config?.check_path ?? "",
      check_body: config?.check_body ?? "",
      ssl_cert: "",
      ssl_key: "",
    },
  });
  const { values } = form;
  const sending = useSending(form, (now) => (config ? updateConfig(id, config.id, wantedOf(now)) : createConfig(id, wantedOf(now))), onDone);
  const watched = values.check !== "none";
  return (
    <FormDialog title={config ? `Change port ${config.port}` : "Listen at a port"} size="lg" sending={sending} submit={config ? "Save port" : "Add port"} onClose={onClose}>
      <Fields beside>
        <NumberInput label="Port" data-autofocus {...form.getInputProps("port")} />
        <Select label="Protocol" allowDeselect={false} data={PROTOCOLS} {...form.getInputProps("protocol")} />
        <Select label="How nodes are chosen" allowDeselect={false} data={ALGORITHMS} {...form.getInputProps("algorithm")} />
        <Select label="Who comes again gets" allowDeselect={false} data={STICKINESS} {...form.getInputProps("stickiness")} />
      </Fields>
      {values.protocol === "https" && (
        <Fields beside>
          <Textarea label="Certificate" placeholder={config?.ssl_cert ? "kept as it is" : "-----BEGIN CERTIFICATE-----"} autosize minRows={3} maxRows={6} spellCheck={false} {...form.getInputProps("ssl_cert")} />
          <Textarea label="Private key" placeholder={config?.ssl_key ? "kept as it is" : "-----BEGIN PRIVATE KEY-----"} autosize minRows={3} maxRows={6} spellCheck={false} {...form.getInputProps("ssl_key")} />
        </Fields>
      )}
      <Fields beside>
        <Select label="A node is well if" allowDeselect={false} data={CHECKS} {...form.getInputProps("check")} />
        {watched && <NumberInput label="Asked every" suffix=" s" {...form.getInputProps("check_interval")} />}
        {watched && <NumberInput label="Waits for" suffix=" s" {...form.getInputProps("check_timeout")} />}
        {watched && <NumberInput label="Left out after" suffix=" failures" {...form.getInputProps("check_attempts")} />}
        {(values.check === "http" || values.check === "http_body") && <TextInput label="Path" placeholder="/health" {...form.getInputProps("check_path")} />}
        {values.check === "http_body" && <TextInput label="Text in the answer" {...form.getInputProps("check_body")} />}
      </Fields>
    </FormDialog>
  );
}

/** What is left empty is left as it is: secrets are never shown again. */
function wantedOf({ ssl_cert, ssl_key, check_path, check_body, ...rest }: Record<string, unknown>): WantedConfig {
  return { ...rest, ...(check_path ? { check_path } : {}), ...(check_body ? { check_body } : {}), ...(ssl_cert ? { ssl_cert } : {}), ...(ssl_key ? { ssl_key } : {}) } as WantedConfig;
}
