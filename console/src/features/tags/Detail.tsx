import { Button, TagsInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { Tags } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { notify, notifyFailed } from "../../ui/notify";
import { Empty, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { profile } from "../profile/queries";
import { remove, retag, tagged, type TaggedItem } from "./queries";

const route = getRouteApi("/tags/$label");
const BACK = { to: "/tags", label: "Tags" };

export default function Detail() {
  const { label } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const cache = useQueryClient();
  const query = useQuery({ ...tagged(label, search), placeholderData: keepPreviousData });
  const reason = useQuery(profile).data?.restricted ? "Only unrestricted users of your account may change tags." : undefined;
  const [open, setOpen] = useState<TaggedItem | "delete" | null>(null);
  const actions = useMemo(() => {
    const takeOff = (item: TaggedItem) =>
      retag(item, item.tags.filter((tag) => tag !== label))
        .then(() => cache.invalidateQueries())
        .then(() => notify(`${item.name} no longer has ${label}`))
        .catch((error: unknown) => notifyFailed(item.name, error));
    return (item: TaggedItem) => (
      <RowMenu
        label={item.name}
        actions={[
          { label: "Change its tags…", icon: "tag", onClick: () => setOpen(item), reason },
          { label: `Take off ${label}`, icon: "cross", onClick: () => void takeOff(item), reason },
        ]}
      />
    );
  }, [label, cache, reason]);
  return (
    <Page
      title={label}
      back={BACK}
      lead={query.data && `carried by ${count(query.data.results, "object")}`}
      actions={
        <Disabled reason={reason}>
          <Button variant="default" leftSection={<Icon name="trash" size={16} />} onClick={() => setOpen("delete")}>
            Delete tag
          </Button>
        </Disabled>
      }
    >
      <Table
        name="tagged objects"
        columns={COLUMNS}
        query={query}
        rowKey={(item) => `${item.type} ${item.id}`}
        rowLabel={(item) => item.name}
        search={search}
        actions={actions}
        empty={
          <Empty icon="tag" title="Nothing carries it">
            Put it on an instance, a volume, a domain or a load balancer in their own settings.
          </Empty>
        }
      />
      {open === "delete" && (
        <ConfirmByLabel
          onClose={() => setOpen(null)}
          verb="Delete"
          label={label}
          onConfirm={async () => {
            await remove(label);
            notify(`${label} was deleted`);
            await navigate({ to: "/tags", search: {} });
            await cache.invalidateQueries();
          }}
          lost={<p>It is taken off all that carries it. The objects themselves stay.</p>}
        />
      )}
      {open && open !== "delete" && (
        <RetagDialog
          item={open}
          onClose={() => setOpen(null)}
          onDone={() => {
            setOpen(null);
            return cache.invalidateQueries();
          }}
        />
      )}
    </Page>
  );
}

function RetagDialog({ item, onClose, onDone }: { item: TaggedItem; onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { tags: item.tags } });
  const sending = useSending(form, ({ tags }) => retag(item, tags), onDone);
  return (
    <FormDialog title={`Tags of ${item.name}`} sending={sending} submit="Save tags" onClose={onClose}>
      <TagsInput label="Tags" placeholder="Enter after each" data-autofocus {...form.getInputProps("tags")} error={Object.entries(form.errors).find(([key]) => key.startsWith("tags"))?.[1]} />
    </FormDialog>
  );
}

const KINDS: Record<string, { word: string; to: (item: TaggedItem) => string }> = {
  compute: { word: "Instance", to: ({ id }) => `/instances/${id}` },
  domain: { word: "Domain", to: ({ id }) => `/domains/${id}` },
  nodebalancer: { word: "Load balancer", to: ({ id }) => `/nodebalancers/${id}` },
  firewall: { word: "Firewall", to: ({ id }) => `/firewalls/${id}` },
  volume: { word: "Volume", to: () => "/volumes" },
};

const COLUMNS: Column<TaggedItem>[] = [
  {
    key: "name",
    header: "Name",
    csv: (item) => item.name,
    cell: (item) => (
      <Link to={KINDS[item.type]?.to(item) ?? "/tags"} search={(item.type === "volume" ? { q: item.name } : {}) as never}>
        {item.name}
      </Link>
    ),
  },
  { key: "type", header: "Kind", csv: (item) => item.type, cell: (item) => KINDS[item.type]?.word ?? item.type },
  { key: "tags", header: "All its tags", phone: "wide", csv: (item) => item.tags.join(" "), cell: (item) => <Tags tags={item.tags} /> },
];
