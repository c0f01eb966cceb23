import { Button, NumberInput, SegmentedControl, Select, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { Facts } from "../../ui/Facts";
import { Fields, FormPage, useSending } from "../../ui/form";
import { notify } from "../../ui/notify";
import { Card } from "../../ui/Page";
import { usePlan } from "../../ui/plan";
import { PriceBar } from "../../ui/PriceBar";
import { ChooseInstance } from "../instances/Choose";
import { regions } from "../instances/queries";
import { Configs } from "./Dialogs";
import { create, planCreate, type Wanted } from "./queries";

const START = { label: "", size: 20, place: "free", region: "eu-west", compute_id: null as string | null, config_id: null as string | null, tags: [] as string[] };

export default function Create() {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const form = useForm({ initialValues: START });
  const { values } = form;
  const plan = usePlan("volumes", form, planCreate, wantedOf(values), { label: "price", size: values.size, region: values.region });
  const sending = useSending(
    form,
    (now) => create(wantedOf(now)),
    async (made) => {
      notify(`${made.label} is being made`);
      await cache.invalidateQueries({ queryKey: ["volumes"] });
      await navigate({ to: "/volumes", search: {} });
    },
  );
  const field = (name: keyof typeof START) => ({ ...form.getInputProps(name), error: plan.error(name) });
  const offered = useQuery(regions).data?.data.filter((region) => region.capabilities.includes("Block Storage")) ?? [];
  const attached = values.place === "attached";
  return (
    <FormPage
      title="Create a volume"
      back={{ to: "/volumes", label: "Volumes" }}
      sending={sending}
      submit="Create volume"
      aside={
        <PriceBar title="Summary" price={plan.price} stale={plan.stale}>
          <Facts
            rows={[
              ["Name", values.label || "–"],
              ["Size", `${values.size} GB`],
              ["Where", attached ? "where the instance is" : values.region],
            ]}
          />
          <Button type="submit" fullWidth size="md" mt="md" loading={sending.busy}>
            Create volume
          </Button>
        </PriceBar>
      }
    >
      <Card title="Volume">
        <Fields beside>
          <TextInput label="Name" placeholder="data-1" autoComplete="off" {...field("label")} />
          <NumberInput label="Size" suffix=" GB" min={0} {...field("size")} />
        </Fields>
      </Card>
      <Card
        title="Where"
        aside={
          <SegmentedControl
            size="xs"
            aria-label="Where the volume is made"
            data={[
              { value: "free", label: "Not attached" },
              { value: "attached", label: "Attached to an instance" },
            ]}
            {...form.getInputProps("place")}
          />
        }
      >
        {attached ? (
          <Fields>
            <ChooseInstance label="Instance" description="The volume is made in its region, and attached at each boot" {...field("compute_id")} />
            <Configs computeId={values.compute_id ? Number(values.compute_id) : null} {...field("config_id")} />
          </Fields>
        ) : (
          <Select
            label="Region"
            description="It can be attached to instances there, later"
            searchable
            allowDeselect={false}
            data={offered.map((region) => ({ value: region.id, label: region.id, disabled: region.status !== "ok" }))}
            {...field("region")}
          />
        )}
      </Card>
      <Card title="Options">
        <TagsInput label="Tags" placeholder="Enter after each" {...field("tags")} />
      </Card>
    </FormPage>
  );
}

function wantedOf({ label, size, place, region, compute_id, config_id, tags }: typeof START): Wanted {
  const where = place === "free" ? { region } : { ...(compute_id ? { compute_id: Number(compute_id) } : {}), ...(config_id ? { config_id: Number(config_id) } : {}) };
  return { label, size, tags, ...where };
}
