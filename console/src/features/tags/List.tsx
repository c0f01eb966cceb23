import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { notify } from "../../ui/notify";
import { Empty, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { RowMenu } from "../../ui/RowMenu";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { ChooseInstances } from "../instances/Choose";
import { profile } from "../profile/queries";
import { countOf, create, remove, tags } from "./queries";

const route = getRouteApi("/tags");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/tags --json \'{"label": "production", "computes": [7]}\'';
interface Tag {
  label: string;
}

export default function List() {
  const search = route.useSearch();
  const cache = useQueryClient();
  const query = useQuery({ ...tags(search), placeholderData: keepPreviousData });
  const reason = useQuery(profile).data?.restricted ? "Only unrestricted users of your account may make and delete tags." : undefined;
  const [toRemove, setToRemove] = useState<Tag | null>(null);
  const [making, setMaking] = useState(false);
  const actions = useMemo(() => (tag: Tag) => <RowMenu label={tag.label} actions={[{ label: "Delete…", icon: "trash", danger: true, onClick: () => setToRemove(tag), reason }]} />, [reason]);
  const add = (
    <Disabled reason={reason}>
      <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setMaking(true)}>
        Create tag
      </Button>
    </Disabled>
  );
  return (
    <Page title="Tags" lead={query.data && count(query.data.results, "tag")} actions={add}>
      <Table
        name="tags"
        columns={COLUMNS}
        query={query}
        rowKey={(tag) => tag.label}
        rowLabel={(tag) => tag.label}
        search={search}
        actions={actions}
        empty={
          <Empty icon="tag" title="No tags yet" command={CURL} action={add}>
            A tag is a word of yours on instances, volumes, domains and load balancers that belong together. Costs are summed up by it.
          </Empty>
        }
      />
      {making && (
        <CreateDialog
          onClose={() => setMaking(false)}
          onDone={() => {
            setMaking(false);
            return cache.invalidateQueries({ queryKey: ["tags"] });
          }}
        />
      )}
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Delete"
          label={toRemove.label}
          onConfirm={async () => {
            await remove(toRemove.label);
            notify(`${toRemove.label} was deleted`);
            await cache.invalidateQueries();
          }}
          lost={<p>It is taken off all that carries it. The objects themselves stay.</p>}
        />
      )}
    </Page>
  );
}

function CreateDialog({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { label: "", computes: [] as string[] } });
  const sending = useSending(form, ({ label, computes }) => create({ label, computes: computes.map(Number) }), onDone);
  return (
    <FormDialog title="Create a tag" sending={sending} submit="Create tag" onClose={onClose}>
      <TextInput label="Tag" description="3 to 50 letters" data-autofocus autoComplete="off" {...form.getInputProps("label")} />
      <ChooseInstances label="Instances that get it" {...form.getInputProps("computes")} />
    </FormDialog>
  );
}

function Count({ label }: { label: string }) {
  const { data } = useQuery(countOf(label));
  return <>{data ?? "–"}</>;
}

const COLUMNS: Column<Tag>[] = [
  {
    key: "label",
    header: "Tag",
    csv: (tag) => tag.label,
    cell: (tag) => (
      <RowLink to={`/tags/${encodeURIComponent(tag.label)}`}>{tag.label}</RowLink>
    ),
  },
  { key: "count", header: "Carried by", align: "right", cell: (tag) => <Count label={tag.label} /> },
];
