import { Button, SegmentedControl, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { useProgress } from "../../live/progress";
import { Ago, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { notify } from "../../ui/notify";
import { Empty, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import { count, day, size } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { type Image, images, remove, update } from "./queries";

const route = getRouteApi("/images");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/images --json \'{"disk_id": 7, "label": "golden"}\'';
const KINDS = [
  { value: "private", label: "Yours" },
  { value: "public", label: "Official" },
];

export default function List() {
  const search = route.useSearch();
  const cache = useQueryClient();
  const query = useQuery({ ...images(search), placeholderData: keepPreviousData });
  const [open, setOpen] = useState<{ dialog: "edit" | "delete"; image: Image } | null>(null);
  const official = search.kind === "public";
  const actions = useMemo(() => (image: Image) => <Actions image={image} onOpen={(dialog) => setOpen({ dialog, image })} />, []);
  const done = (message: string) => {
    setOpen(null);
    notify(message);
    return Promise.all([cache.invalidateQueries({ queryKey: ["images"] }), cache.invalidateQueries({ queryKey: ["catalogue", "images"] })]);
  };
  return (
    <Page title="Images" wide lead={query.data && (official ? `${count(query.data.results, "image")} of the service` : `${count(query.data.results, "image")} of yours`)} actions={<Make />}>
      <Table
        name="images"
        columns={official ? OFFICIAL : OWN}
        query={query}
        rowKey={(image) => image.id}
        rowLabel={(image) => image.label}
        search={search}
        find="Find by name"
        filters={<Kinds official={official} />}
        filtered={official}
        actions={actions}
        empty={
          <>
            <div style={{ padding: "var(--space-3) var(--space-4) 0" }}>
              <Kinds official={official} />
            </div>
            <Empty icon="image" title="No images of yours yet" command={CURL} action={<Make />}>
              An image is a disk put by, to make instances from. Take one from a disk, or send a file of your own.
            </Empty>
          </>
        }
      />
      {open?.dialog === "edit" && <EditDialog image={open.image} onClose={() => setOpen(null)} onDone={() => done(`${open.image.label} was changed`)} />}
      {open?.dialog === "delete" && (
        <ConfirmByLabel
          onClose={() => setOpen(null)}
          verb="Delete"
          label={open.image.label}
          onConfirm={async () => {
            await remove(open.image.id);
            await done(`${open.image.label} was deleted`);
          }}
          lost={<p>No instance can be made from it any more. Those that were made from it run on.</p>}
        />
      )}
    </Page>
  );
}

function Kinds({ official }: { official: boolean }) {
  const navigate = route.useNavigate();
  return <SegmentedControl aria-label="Whose images" size="sm" data={KINDS} value={official ? "public" : "private"} onChange={(kind) => void navigate({ search: kind === "public" ? { kind } : {}, replace: true })} />;
}

function Make() {
  const reason = usePermissions().create("add_images");
  return (
    <div style={{ display: "flex", gap: "var(--space-2)", flexWrap: "wrap", justifyContent: "center" }}>
      <Disabled reason={reason}>
        <Button component={Link} to="/images/upload" variant="default" leftSection={<Icon name="upload" size={16} />}>
          Upload a file
        </Button>
      </Disabled>
      <Disabled reason={reason}>
        <Button component={Link} to="/images/new" leftSection={<Icon name="plus" size={16} />}>
          Create image
        </Button>
      </Disabled>
    </div>
  );
}

function Actions({ image, onOpen }: { image: Image; onOpen: (dialog: "edit" | "delete") => void }) {
  const permissions = usePermissions();
  const navigate = useNavigate();
  const deploy = {
    label: "Make an instance",
    icon: "server" as const,
    onClick: () => void navigate({ to: "/instances/new", search: { image: image.id } as never }),
    reason: permissions.create("add_computes") ?? (image.status !== "available" && "It is not ready yet"),
  };
  if (image.is_public) return <RowMenu label={image.label} actions={[deploy]} />;
  // Grants name an image by its number, which is the second part of its id.
  const change = permissions.change("image", Number(image.id.split("/")[1]));
  return (
    <RowMenu
      label={image.label}
      actions={[
        deploy,
        { label: "Change…", icon: "pencil", onClick: () => onOpen("edit"), reason: change },
        { label: "Delete…", icon: "trash", danger: true, onClick: () => onOpen("delete"), reason: change },
      ]}
    />
  );
}

function EditDialog({ image, onClose, onDone }: { image: Image; onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { label: image.label, description: image.description ?? "" } });
  const sending = useSending(form, (values) => update(image.id, values), onDone);
  return (
    <FormDialog title={`Change ${image.label}`} sending={sending} submit="Save" onClose={onClose}>
      <TextInput label="Name" data-autofocus autoComplete="off" {...form.getInputProps("label")} />
      <Textarea label="Description" autosize minRows={3} {...form.getInputProps("description")} />
    </FormDialog>
  );
}

function State({ image }: { image: Image }) {
  return <Status status={image.status} event={useProgress("image", image.id)} />;
}

const ID: Column<Image> = { key: "id", header: "Id", phone: "wide", csv: (image) => image.id, cell: (image) => <Copyable text={image.id} what="id" /> };
const SIZE: Column<Image> = { key: "size", header: "Size", sort: "size", align: "right", csv: (image) => image.size, cell: (image) => (image.size ? size(image.size) : "–") };

const OWN: Column<Image>[] = [
  {
    key: "label",
    header: "Name",
    sort: "label",
    csv: (image) => image.label,
    cell: (image) => (
      <TwoLines under={image.description || "no description"}>
        <strong>{image.label}</strong>
      </TwoLines>
    ),
  },
  { key: "status", header: "Status", width: 220, phone: "wide", csv: (image) => image.status, cell: (image) => <State image={image} /> },
  SIZE,
  ID,
  { key: "created", header: "Created", phone: "hide", csv: (image) => image.created, cell: (image) => <TwoLines under={`by ${image.created_by}`}><Ago time={image.created} /></TwoLines> },
];

const OFFICIAL: Column<Image>[] = [
  {
    key: "label",
    header: "Name",
    sort: "label",
    csv: (image) => image.label,
    cell: (image) => (
      <TwoLines under={image.deprecated ? "no longer cared for" : image.eol ? `cared for until ${day(image.eol)}` : ""}>
        <strong>{image.label}</strong>
      </TwoLines>
    ),
  },
  { key: "vendor", header: "Distribution", sort: "vendor", phone: "hide", csv: (image) => image.vendor, cell: (image) => image.vendor },
  SIZE,
  ID,
];
