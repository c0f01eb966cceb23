import { Button, Select, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";

import { chosen } from "../../api/errors";
import { Fields, FormPage, useSending } from "../../ui/form";
import { Icon } from "../../ui/Icon";
import { notify } from "../../ui/notify";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { Bar } from "../../ui/Status";
import { size } from "../../ui/words";
import { regions } from "../instances/queries";
import { prepareUpload, sendFile } from "./queries";
import css from "./Upload.module.css";

const BACK = { to: "/images", label: "Images" };

export default function Upload() {
  const [ready, setReady] = useState<{ uploadTo: string; file: File; label: string } | null>(null);
  const cache = useQueryClient();
  const offered = useQuery(regions).data?.data ?? [];
  const form = useForm({ initialValues: { label: "", region: "eu-west", description: "", file: null as File | null } });
  const sending = useSending(
    form,
    async ({ label, region, description, ...values }) => {
      const file = chosen(values.file, "file", "Choose the file first");
      return { file, ...(await prepareUpload({ label, region, ...(description ? { description } : {}) })) };
    },
    async ({ file, image, upload_to }) => {
      setReady({ uploadTo: upload_to, file, label: image.label });
      await cache.invalidateQueries({ queryKey: ["images"] });
    },
  );
  if (ready) return <Sending {...ready} />;
  return (
    <FormPage title="Upload an image" lead="A disk of your own, packed with gzip" back={BACK} sending={sending} submit="Upload">
      <Card title="File">
        <FileField file={form.values.file} error={form.errors.file} onChange={(file) => form.setValues({ file, ...(file && !form.values.label ? { label: file.name.replace(/(\.img)?\.gz$/, "").slice(0, 50) } : {}) })} />
      </Card>
      <Card title="Image">
        <Fields>
          <Fields beside>
            <TextInput label="Name" autoComplete="off" {...form.getInputProps("label")} />
            <Select label="Region where it is kept" allowDeselect={false} searchable data={offered.map((region) => region.id)} {...form.getInputProps("region")} />
          </Fields>
          <Textarea label="Description" autosize minRows={3} {...form.getInputProps("description")} />
        </Fields>
      </Card>
    </FormPage>
  );
}

function FileField({ file, error, onChange }: { file: File | null; error: ReactNode; onChange: (file: File | null) => void }) {
  const id = useId();
  const [over, setOver] = useState(false);
  return (
    <label
      htmlFor={id}
      className={css.drop}
      data-over={over || undefined}
      onDragOver={(drag) => {
        drag.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(drop) => {
        drop.preventDefault();
        setOver(false);
        onChange(drop.dataTransfer.files[0] ?? null);
      }}
    >
      <Icon name="upload" size={22} />
      <strong>{file ? file.name : "Choose a file, or drop it here"}</strong>
      <span className="quiet">{file ? megabytes(file.size) : "A raw disk with ext4, packed with gzip: disk.img.gz"}</span>
      {error && (
        <span id={`${id}-error`} className={css.error}>
          {error}
        </span>
      )}
      <input id={id} type="file" data-path="file" accept=".gz,application/gzip" className="unseen" aria-invalid={Boolean(error)} aria-describedby={error ? `${id}-error` : undefined} onChange={(change) => onChange(change.currentTarget.files?.[0] ?? null)} />
    </label>
  );
}

const megabytes = (bytes: number) => (bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} kB` : size(Math.round(bytes / 1024 / 1024)));

/** The file on its way. The address takes it for a day, so a broken line costs no more than another attempt. */
function Sending({ uploadTo, file, label }: { uploadTo: string; file: File; label: string }) {
  const navigate = useNavigate();
  const [percent, setPercent] = useState(0);
  const [problem, setProblem] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(1);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => {
    const control = new AbortController();
    stop.current = control;
    const warn = (leave: BeforeUnloadEvent) => leave.preventDefault();
    addEventListener("beforeunload", warn);
    setProblem(null);
    sendFile(uploadTo, file, setPercent, control.signal)
      .then(() => {
        notify(`${label} is here, and is being unpacked`);
        return navigate({ to: "/images", search: {} });
      })
      .catch((error: unknown) => !control.signal.aborted && setProblem(error))
      .finally(() => removeEventListener("beforeunload", warn));
    return () => {
      control.abort();
      removeEventListener("beforeunload", warn);
    };
  }, [uploadTo, file, label, navigate, attempt]);
  const sent = `${percent}% of ${megabytes(file.size)}`;
  return (
    <Page title={`Sending ${file.name}`} lead={`It becomes the image ${label}`} back={BACK}>
      <Card>
        {problem === null ? (
          <div className={css.sending}>
            <Bar label={`Sending ${file.name}`} percent={percent} text={sent} />
            <span className="quiet figures">{sent}. Leave this page open until all of it is sent.</span>
            <Button variant="default" size="xs" onClick={() => void navigate({ to: "/images", search: {} })}>
              Stop
            </Button>
          </div>
        ) : (
          <ErrorMessage error={problem} again={() => setAttempt(attempt + 1)} />
        )}
      </Card>
    </Page>
  );
}
