import { Checkbox, MultiSelect, Skeleton, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";

import { Fields, FormPage, useSending } from "../../ui/form";
import { notify } from "../../ui/notify";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { images } from "../instances/queries";
import css from "./StackScript.module.css";
import { create, type StackScript, stackscriptById, update } from "./queries";

const START = "#!/bin/sh\n# <UDF name=\"hostname\" label=\"Name of the machine\" example=\"web-1\" default=\"\" />\nset -eu\n\n";

export default function Edit() {
  const { id } = useParams({ strict: false });
  const query = useQuery({ ...stackscriptById(Number(id)), enabled: id !== undefined });
  if (id === undefined) return <Editor />;
  if (query.data) return <Editor key={query.data.updated} script={query.data} />;
  return (
    <Page title="StackScript" back={{ to: "/stackscripts", label: "StackScripts" }}>
      {query.isError ? <ErrorMessage error={query.error} again={() => void query.refetch()} /> : <Skeleton height={400} radius={10} />}
    </Page>
  );
}

function Editor({ script }: { script?: StackScript }) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const offered = useQuery(images).data?.data.filter((image) => image.is_public && !image.deprecated) ?? [];
  const form = useForm({
    initialValues: {
      label: script?.label ?? "",
      description: script?.description ?? "",
      images: script?.images ?? ["any/all"],
      script: script?.script ?? START,
      rev_note: "",
      is_public: script?.is_public ?? false,
    },
  });
  const sending = useSending(
    form,
    (values) => (script ? update(script.id, values) : create(values)),
    async (saved) => {
      notify(`${saved.label} was saved`);
      await navigate({ to: "/stackscripts/$id", params: { id: saved.id } });
      await cache.invalidateQueries({ queryKey: ["stackscripts"] });
    },
  );
  const back = script ? { to: `/stackscripts/${script.id}`, label: script.label } : { to: "/stackscripts", label: "StackScripts" };
  const choices = [{ value: "any/all", label: "Any image" }, ...offered.map((image) => ({ value: image.id, label: image.label }))];
  return (
    <FormPage title={script ? `Edit ${script.label}` : "Create a StackScript"} back={back} sending={sending} submit={script ? "Save revision" : "Create StackScript"}>
      <Card title="Script">
        <Fields>
          <Textarea
            label="Text"
            description={"It begins with #! and the program that runs it. A line with <UDF name=… label=… /> asks for a value."}
            autosize
            minRows={14}
            maxRows={32}
            spellCheck={false}
            classNames={{ input: css.editor }}
            {...form.getInputProps("script")}
          />
          <TextInput label="Note on this revision" placeholder={script?.rev_note || "What has changed"} autoComplete="off" {...form.getInputProps("rev_note")} />
        </Fields>
      </Card>
      <Card title="About it">
        <Fields>
          <TextInput label="Name" autoComplete="off" {...form.getInputProps("label")} />
          <MultiSelect label="Images it runs on" data={choices} searchable {...form.getInputProps("images")} />
          <Textarea label="Description" autosize minRows={2} {...form.getInputProps("description")} />
          <Checkbox
            label="Everyone may use it"
            description={script?.is_public ? "It is public, and stays so" : "This cannot be taken back"}
            disabled={script?.is_public}
            {...form.getInputProps("is_public", { type: "checkbox" })}
          />
        </Fields>
      </Card>
    </FormPage>
  );
}
