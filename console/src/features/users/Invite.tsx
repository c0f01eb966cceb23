import { Checkbox, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { Fields, FormPage, useSending } from "../../ui/form";
import { Card } from "../../ui/Page";
import { invite } from "./queries";

export default function Invite() {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const form = useForm({ initialValues: { username: "", email: "", restricted: true } });
  const sending = useSending(form, invite, async (made) => {
    await cache.invalidateQueries({ queryKey: ["users", "list"] });
    await navigate({ to: "/users/$name", params: { name: made.username } });
  });
  return (
    <FormPage title="Invite somebody" lead="They get a link by e-mail to set a password." back={{ to: "/users", label: "Users" }} sending={sending} submit="Send the invitation">
      <Card>
        <Fields>
          <TextInput label="Username" description="3 to 32 letters, digits, dashes and underscores" autoComplete="off" {...form.getInputProps("username")} />
          <TextInput label="E-mail address" type="email" autoComplete="off" {...form.getInputProps("email")} />
          <Checkbox label="Restricted" description="May do only what you grant on the next page. Without this they may do everything, billing included." {...form.getInputProps("restricted", { type: "checkbox" })} />
        </Fields>
      </Card>
    </FormPage>
  );
}
