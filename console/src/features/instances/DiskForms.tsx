/** Dialogs about one disk: add, rename, resize, password. */
import { NumberInput, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Instance } from "../../api/client";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { size } from "../../ui/words";
import { ImageField, KeysField, RootPassword } from "./Deploy";
import { addDisk, type Disk, FILESYSTEMS, resetDiskPassword, resizeDisk, updateDisk } from "./diskQueries";

/** What a dialog does after its order: close, and look at the instance again. */
function useDone(instance: Instance, onClose: () => void) {
  const cache = useQueryClient();
  return async () => {
    onClose();
    await cache.invalidateQueries({ queryKey: ["instances", "one", instance.id] });
  };
}

export function AddDisk({ instance, free, onClose }: { instance: Instance; free: number; onClose: () => void }) {
  const [filled, setFilled] = useState("empty");
  const isFilled = filled === "image";
  const form = useForm({ initialValues: { label: "", size: Math.min(free, 10_240), filesystem: "ext4", image: "compute/debian12", root_pass: "", authorized_keys: [] as string[] } });
  const done = useDone(instance, onClose);
  const sending = useSending(
    form,
    ({ label, size, filesystem, image, root_pass, authorized_keys }) =>
      addDisk(instance.id, isFilled ? { size, image, root_pass, authorized_keys, ...(label ? { label } : {}) } : { size, label, filesystem: filesystem as Disk["filesystem"] }),
    done,
  );
  return (
    <FormDialog title="Add a disk" sending={sending} submit="Add disk" onClose={onClose}>
      <SegmentedControl
        aria-label="What it holds"
        value={filled}
        onChange={setFilled}
        data={[
          { value: "empty", label: "Empty" },
          { value: "image", label: "From an image" },
        ]}
      />
      <TextInput label="Name" placeholder={isFilled ? "After the image, if left empty" : "data"} autoComplete="off" {...form.getInputProps("label")} data-autofocus />
      <NumberInput label="Size in MB" description={`${size(free)} (${free} MB) are free`} min={1} allowDecimal={false} {...form.getInputProps("size")} />
      {isFilled ? (
        <>
          <ImageField {...form.getInputProps("image")} />
          <RootPassword {...form.getInputProps("root_pass")} />
          <KeysField {...form.getInputProps("authorized_keys")} />
        </>
      ) : (
        <Select label="Filesystem" data={[...FILESYSTEMS]} allowDeselect={false} {...form.getInputProps("filesystem")} />
      )}
    </FormDialog>
  );
}

export function RenameDisk({ instance, disk, onClose }: { instance: Instance; disk: Disk; onClose: () => void }) {
  const form = useForm({ initialValues: { label: disk.label } });
  const sending = useSending(form, ({ label }) => updateDisk(instance.id, disk.id, { label }), useDone(instance, onClose));
  return (
    <FormDialog title={`Rename ${disk.label}`} sending={sending} submit="Rename" onClose={onClose}>
      <TextInput label="Name" autoComplete="off" {...form.getInputProps("label")} data-autofocus />
    </FormDialog>
  );
}

export function ResizeDisk({ instance, disk, free, onClose }: { instance: Instance; disk: Disk; free: number; onClose: () => void }) {
  const form = useForm({ initialValues: { size: disk.size } });
  const sending = useSending(form, ({ size }) => resizeDisk(instance.id, disk.id, size), useDone(instance, onClose));
  const most = disk.size + Math.max(0, free);
  return (
    <FormDialog title={`Resize ${disk.label}`} sending={sending} submit="Resize" onClose={onClose} held={form.values.size === disk.size && "This is its size already"}>
      <NumberInput label="New size in MB" description={`Now ${disk.size} MB; up to ${most} MB fit. It cannot become smaller than its files.`} min={1} allowDecimal={false} {...form.getInputProps("size")} data-autofocus />
    </FormDialog>
  );
}

export function DiskPassword({ instance, disk, onClose }: { instance: Instance; disk: Disk; onClose: () => void }) {
  const form = useForm({ initialValues: { password: "" } });
  const sending = useSending(form, ({ password }) => resetDiskPassword(instance.id, disk.id, password), useDone(instance, onClose));
  return (
    <FormDialog title={`Reset the password on ${disk.label}`} sending={sending} submit="Set password" onClose={onClose}>
      <RootPassword label="New root password" {...form.getInputProps("password")} data-autofocus />
    </FormDialog>
  );
}
