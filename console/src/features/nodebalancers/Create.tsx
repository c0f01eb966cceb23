import { Button, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { Fields, FormPage, useSending } from "../../ui/form";
import { notify } from "../../ui/notify";
import { Card } from "../../ui/Page";
import { usePlan } from "../../ui/plan";
import { PriceBar } from "../../ui/PriceBar";
import { regions } from "../instances/queries";
import { create, planCreate, type Wanted } from "./queries";

export default function Create() {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const offered = useQuery(regions).data?.data.filter((region) => region.capabilities.includes("NodeBalancers")) ?? [];
  const form = useForm({ initialValues: { label: "", region: "eu-west", client_conn_throttle: 0, tags: [] as string[] } });
  const wantedOf = ({ label, ...rest }: typeof form.values): Wanted => ({ ...rest, ...(label ? { label } : {}) });
  const plan = usePlan("nodebalancers", form, planCreate, wantedOf(form.values), { region: form.values.region });
  const sending = useSending(
    form,
    (values) => create(wantedOf(values)),
    async (made) => {
      notify(`${made.label} is there`);
      await cache.invalidateQueries({ queryKey: ["nodebalancers"] });
      await navigate({ to: "/nodebalancers/$id", params: { id: made.id } });
    },
  );
  const field = (name: string) => ({ ...form.getInputProps(name), error: plan.error(name) });
  return (
    <FormPage
      title="Create a load balancer"
      lead="What it listens to, and the nodes behind it, come next"
      back={{ to: "/nodebalancers", label: "Load balancers" }}
      sending={sending}
      submit="Create load balancer"
      aside={
        <PriceBar title="Summary" price={plan.price} stale={plan.stale}>
          <Button type="submit" fullWidth size="md" loading={sending.busy}>
            Create load balancer
          </Button>
        </PriceBar>
      }
    >
      <Card title="Load balancer">
        <Fields>
          <Fields beside>
            <TextInput label="Name" description="Chosen for you if it is empty" placeholder="web" autoComplete="off" {...field("label")} />
            <Select label="Region" description="That of the nodes behind it" allowDeselect={false} searchable data={offered.map((region) => region.id)} {...field("region")} />
          </Fields>
          <NumberInput label="New connections a second from one address" description="0 is no limit" min={0} {...field("client_conn_throttle")} />
          <TagsInput label="Tags" placeholder="Enter after each" {...field("tags")} />
        </Fields>
      </Card>
    </FormPage>
  );
}
