/** How the agent gets into a machine: one command, with the client's own code. */
import { Button, Group, Modal, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { Copyable } from "../../ui/Copyable";
import { Facts } from "../../ui/Facts";
import { ErrorMessage } from "../../ui/Page";
import { type Client, clientById } from "./queries";

export function Install({ client, onClose }: { client: Client; onClose: () => void }) {
  const { data, error } = useQuery(clientById(client.id));
  return (
    <Modal opened onClose={onClose} title={`Install the agent of ${client.label}`} size="lg">
      <p className="quiet">As root, in the machine that it is to watch, fetch the installer that your provider names and give it this code.</p>
      {error ? (
        <ErrorMessage error={error} />
      ) : data ? (
        <Facts
          rows={[
            ["Install code", <Copyable key="code" text={data.install_code} what="install code" />],
            ["Key", <Copyable key="key" text={data.api_key} what="key" />],
          ]}
        />
      ) : (
        <Skeleton height={52} />
      )}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose} data-autofocus>
          Close
        </Button>
      </Group>
    </Modal>
  );
}
