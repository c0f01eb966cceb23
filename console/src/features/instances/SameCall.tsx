/** The same order as a command: what this form would send, to be typed elsewhere. */
import { Button, CopyButton } from "@mantine/core";
import { useState } from "react";

import { inOwnWords } from "../../ui/command";
import { Icon } from "../../ui/Icon";
import { OneOf } from "../../ui/OneOf";
import { Card } from "../../ui/Page";
import type { Wanted } from "./queries";
import { asCommand, asCurl } from "./call";
import css from "./SameCall.module.css";

export function SameCall({ wanted, firewall }: { wanted: Wanted; firewall: number | null }) {
  const [form, setForm] = useState<"curl" | "crofter">("curl");
  const device = { id: "ID", type: "compute" };
  const first = form === "curl" ? asCurl("/compute/instances", wanted) : asCommand("instances create", wanted);
  const second = firewall === null ? "" : form === "curl" ? asCurl(`/networking/firewalls/${firewall}/devices`, device) : asCommand(`firewalls devices create ${firewall}`, device);
  const text = inOwnWords(second ? `${first}\n\n# with the id that it was given:\n${second}` : first);
  const choice = <OneOf label="As which command" value={form} onChange={setForm} options={{ curl: "curl", crofter: "Command line" }} />;
  return (
    <Card title="The same as a command" aside={choice}>
      <pre className={css.call} tabIndex={0} role="region" aria-label="The same as a command">
        {text}
      </pre>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button className={css.copy} size="xs" variant="default" leftSection={<Icon name={copied ? "check" : "copy"} size={14} />} onClick={copy}>
            {copied ? "Copied" : "Copy"}
          </Button>
        )}
      </CopyButton>
    </Card>
  );
}
