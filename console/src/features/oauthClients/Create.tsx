import { Checkbox, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { Fields, FormPage, useSending } from "../../ui/form";
import { Card } from "../../ui/Page";
import { SecretDialog } from "../../ui/SecretDialog";
import { create, resetSecret } from "./queries";

export default function Create() {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const [secret, setSecret] = useState<{ id: string; text: string } | null>(null);
  const form = useForm({ initialValues: { label: "", redirect_uri: "", public: false } });
  const leave = (id: string) => navigate({ to: "/oauth-clients/$id", params: { id } });
  const sending = useSending(form, create, async (made) => {
    await cache.invalidateQueries({ queryKey: ["oauthClients"] });
    if (made.public) await leave(made.id);
    // The answer of a creation masks the secret; only the answer of a reset shows it.
    else setSecret({ id: made.id, text: (await resetSecret(made.id)).secret });
  });
  return (
    <FormPage title="Register an app" back={{ to: "/oauth-clients", label: "OAuth clients" }} sending={sending} submit="Register the app">
      <Card>
        <Fields>
          <TextInput label="Name" description="Shown to people when it asks for access" {...form.getInputProps("label")} />
          <TextInput label="Redirect address" description="Where people are sent back to, exactly" placeholder="https://app.example/back" {...form.getInputProps("redirect_uri")} />
          <Checkbox label="It cannot keep a secret" description="It runs in browsers or on phones, and proves itself with PKCE" {...form.getInputProps("public", { type: "checkbox" })} />
        </Fields>
      </Card>
      <SecretDialog title="Secret of the app" what="client secret" secret={secret?.text ?? null} onDone={() => void (secret && leave(secret.id))} />
    </FormPage>
  );
}
