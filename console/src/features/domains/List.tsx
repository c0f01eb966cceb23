import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { Tags, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { Empty, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { say } from "../../ui/say";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { useMay } from "../profile/may";
import { clone, type Domain, domains, importZone, remove } from "./queries";

const route = getRouteApi("/domains");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/domains --json \'{"domain": "example.com", "type": "master", "soa_email": "me@example.com"}\'';
type Open = { dialog: "import" } | { dialog: "clone" | "delete"; domain: Domain };

export default function List() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const cache = useQueryClient();
  const query = useQuery({ ...domains(search), placeholderData: keepPreviousData });
  const may = useMay();
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const actions = useMemo(() => (domain: Domain) => <Actions domain={domain} onOpen={(dialog) => setOpen({ dialog, domain })} />, []);
  const done = (message: string) => {
    close();
    say(message);
    return cache.invalidateQueries({ queryKey: ["domains"] });
  };
  const reason = may.create("add_domains");
  const create = (
    <Disabled reason={reason}>
      <Button component={Link} to="/domains/new" leftSection={<Icon name="plus" size={16} />}>
        Create domain
      </Button>
    </Disabled>
  );
  const buttons = (
    <>
      <Disabled reason={reason}>
        <Button variant="default" leftSection={<Icon name="download" size={16} />} onClick={() => setOpen({ dialog: "import" })}>
          Import
        </Button>
      </Disabled>
      {create}
    </>
  );
  return (
    <Page title="Domains" wide lead={query.data && count(query.data.results, "domain")} actions={buttons}>
      <Table
        name="domains"
        columns={COLUMNS}
        query={query}
        rowKey={(domain) => domain.id}
        rowLabel={(domain) => domain.domain}
        search={search}
        onSearch={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        find="Find by name or tag"
        filtered={Boolean(search.tag)}
        actions={actions}
        empty={
          <Empty icon="globe" title="No domains yet" command={CURL} action={create}>
            A domain is a zone that our name servers answer for: which address each name has, where its mail goes.
          </Empty>
        }
      />
      {open?.dialog === "import" && <ImportDialog onClose={close} onDone={(domain) => done(`${domain.domain} was imported`)} />}
      {open?.dialog === "clone" && <CloneDialog domain={open.domain} onClose={close} onDone={(domain) => done(`${domain.domain} was made`)} />}
      {open?.dialog === "delete" && (
        <ConfirmByLabel
          opened
          onClose={close}
          verb="Delete"
          label={open.domain.domain}
          onConfirm={async () => {
            await remove(open.domain.id);
            await done(`${open.domain.domain} was deleted`);
          }}
          lost={<p>All of its records are gone, and its names are no longer answered for.</p>}
        />
      )}
    </Page>
  );
}

function Actions({ domain, onOpen }: { domain: Domain; onOpen: (dialog: "clone" | "delete") => void }) {
  const may = useMay();
  return (
    <RowMenu
      label={domain.domain}
      actions={[
        { label: "Clone…", icon: "copy", onClick: () => onOpen("clone"), reason: may.create("add_domains") },
        { label: "Delete…", icon: "trash", danger: true, onClick: () => onOpen("delete"), reason: may.change("domain", domain.id) },
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
        <Link to="/domains/$id" params={{ id: domain.id }}>
          {domain.domain}
        </Link>
      </TwoLines>
    ),
  },
  { key: "status", header: "Status", csv: (domain) => domain.status, cell: (domain) => <Status status={domain.status} /> },
  { key: "type", header: "Kind", csv: (domain) => domain.type, cell: (domain) => (domain.type === "master" ? "primary" : "secondary") },
  { key: "soa", header: "Contact", phone: "hide", csv: (domain) => domain.soa_email, cell: (domain) => domain.soa_email || <span className="quiet">none</span> },
];
