import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { Tags, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { ListPage, useRowDialog } from "../../ui/ListPage";
import { RowLink } from "../../ui/RowLink";
import { RowMenu } from "../../ui/RowMenu";
import { Status } from "../../ui/Status";
import type { Column } from "../../ui/Table";
import { usePermissions } from "../profile/permissions";
import { clone, type Domain, domains, importZone, remove } from "./queries";

const route = getRouteApi("/domains");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/domains --json \'{"domain": "example.com", "type": "master", "soa_email": "me@example.com"}\'';
const TEXT = "A domain is a zone that our name servers answer for: which address each name has, where its mail goes.";
type Dialog = "clone" | "delete";

export default function List() {
  const search = route.useSearch();
  const held = usePermissions().create("add_domains");
  const [importing, setImporting] = useState(false);
  const { show, rowOf, close, done } = useRowDialog<Domain, Dialog>("domains");
  const actions = useMemo(() => (domain: Domain) => <Actions domain={domain} onOpen={(dialog) => show(dialog, domain)} />, []);
  const cloned = rowOf("clone");
  const toRemove = rowOf("delete");
  const importButton = (
    <Disabled reason={held}>
      <Button variant="default" leftSection={<Icon name="download" size={16} />} onClick={() => setImporting(true)}>
        Import
      </Button>
    </Disabled>
  );
  return (
    <ListPage
      title="Domains"
      noun="domain"
      make={{ to: "/domains/new", label: "Create domain", held }}
      before={importButton}
      nothing={{ icon: "globe", text: TEXT, command: CURL }}
      columns={COLUMNS}
      query={useQuery(domains(search))}
      rowLabel={(domain) => domain.domain}
      search={search}
      actions={actions}
    >
      {importing && (
        <ImportDialog
          onClose={() => setImporting(false)}
          onDone={(domain) => {
            setImporting(false);
            return done(`${domain.domain} was imported`);
          }}
        />
      )}
      {cloned && <CloneDialog domain={cloned} onClose={close} onDone={(domain) => done(`${domain.domain} was made`)} />}
      {toRemove && (
        <ConfirmByLabel
          onClose={close}
          verb="Delete"
          label={toRemove.domain}
          onConfirm={() => remove(toRemove.id).then(() => done(`${toRemove.domain} was deleted`))}
          lost={<p>All of its records are gone, and its names are no longer answered for.</p>}
        />
      )}
    </ListPage>
  );
}

function Actions({ domain, onOpen }: { domain: Domain; onOpen: (dialog: "clone" | "delete") => void }) {
  const permissions = usePermissions();
  return (
    <RowMenu
      label={domain.domain}
      actions={[
        { label: "Clone…", icon: "copy", onClick: () => onOpen("clone"), reason: permissions.create("add_domains") },
        { label: "Delete…", icon: "trash", danger: true, onClick: () => onOpen("delete"), reason: permissions.change("domain", domain.id) },
      ]}
    />
  );
}

function ImportDialog({ onClose, onDone }: { onClose: () => void; onDone: (domain: Domain) => unknown }) {
  const form = useForm({ initialValues: { domain: "", remote_nameserver: "" } });
  const sending = useSending(form, importZone, onDone);
  return (
    <FormDialog title="Import a domain" lead="From a name server that lets this one transfer the zone (AXFR)." sending={sending} submit="Import" onClose={onClose}>
      <TextInput label="Domain" placeholder="example.com" data-autofocus autoComplete="off" {...form.getInputProps("domain")} />
      <TextInput label="Name server" placeholder="ns1.example.net" autoComplete="off" {...form.getInputProps("remote_nameserver")} />
    </FormDialog>
  );
}

function CloneDialog({ domain, onClose, onDone }: { domain: Domain; onClose: () => void; onDone: (domain: Domain) => unknown }) {
  const form = useForm({ initialValues: { domain: "" } });
  const sending = useSending(form, (values) => clone(domain.id, values.domain), onDone);
  return (
    <FormDialog title={`Clone ${domain.domain}`} lead="A new domain with the same records." sending={sending} submit="Clone" onClose={onClose}>
      <TextInput label="Name of the new domain" placeholder="example.org" data-autofocus autoComplete="off" {...form.getInputProps("domain")} />
    </FormDialog>
  );
}

const COLUMNS: Column<Domain>[] = [
  {
    key: "domain",
    header: "Name",
    sort: "domain",
    csv: (domain) => domain.domain,
    cell: (domain) => (
      <TwoLines under={domain.tags.length ? <Tags tags={domain.tags} /> : domain.description}>
        <RowLink to={`/domains/${domain.id}`}>{domain.domain}</RowLink>
      </TwoLines>
    ),
  },
  { key: "status", header: "Status", csv: (domain) => domain.status, cell: (domain) => <Status status={domain.status} /> },
  { key: "type", header: "Kind", csv: (domain) => domain.type, cell: (domain) => (domain.type === "master" ? "primary" : "secondary") },
  { key: "soa", header: "Contact", phone: "hide", csv: (domain) => domain.soa_email, cell: (domain) => domain.soa_email || <span className="quiet">none</span> },
];
