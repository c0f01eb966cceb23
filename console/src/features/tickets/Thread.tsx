import { Button, Group, Modal, Skeleton, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { Refused } from "../../api/errors";
import { Ago } from "../../ui/Cell";
import { download } from "../../ui/csv";
import { Disabled } from "../../ui/Disabled";
import { FormCard, useSending } from "../../ui/form";
import { Icon } from "../../ui/Icon";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { placeOf } from "../../ui/places";
import { Files } from "./Files";
import { State } from "./List";
import { attach, attachment, close, isOpen, replies, reply, type Ticket, ticketById } from "./queries";
import css from "./Tickets.module.css";

const route = getRouteApi("/tickets/$id");
const BACK = { to: "/tickets", label: "Tickets" };

export default function Thread() {
  const { id } = route.useParams();
  const query = useQuery(ticketById(id));
  const answers = useQuery(replies(id));
  const [closing, setClosing] = useState(false);
  const ticket = query.data;
  if (query.isError)
    return (
      <Page title="Ticket" back={BACK}>
        <ErrorMessage error={query.error} again={() => void query.refetch()} />
      </Page>
    );
  if (!ticket)
    return (
      <Page title="Ticket" back={BACK}>
        <Skeleton height={240} radius={10} />
      </Page>
    );
  const place = placeOf(ticket.entity);
  return (
    <Page
      title={ticket.summary}
      back={BACK}
      lead={
        <span className={css.lead}>
          <State ticket={ticket} /> Ticket {ticket.id}
          {ticket.entity && <span>about {place ? <Link to={place}>{ticket.entity.label}</Link> : ticket.entity.label}</span>}
        </span>
      }
      actions={
        isOpen(ticket) && (
          <Disabled reason={!ticket.closable && "Only the support staff can close this ticket"}>
            <Button variant="default" leftSection={<Icon name="check" size={16} />} onClick={() => setClosing(true)}>
              Close ticket
            </Button>
          </Disabled>
        )
      }
    >
      <div className={css.thread}>
        <ol className={css.messages} aria-label="Conversation">
          <Message who={ticket.opened_by} when={ticket.opened} text={ticket.description}>
            <Attachments ticket={ticket} />
          </Message>
          {(answers.data?.data ?? []).map((answer) => (
            <Message key={answer.id} who={answer.created_by} when={answer.created} text={answer.description} staff={answer.from_compute} />
          ))}
        </ol>
        {answers.isError && <ErrorMessage error={answers.error} again={() => void answers.refetch()} />}
        {isOpen(ticket) ? <Answer id={id} /> : <Card><p className={css.closed}><Icon name="check" size={16} /> Closed {ticket.closed && <Ago time={ticket.closed} />}. <Link to="/tickets/new">Open another one</Link> if there is more.</p></Card>}
      </div>
      {closing && <Closing ticket={ticket} onDone={() => setClosing(false)} />}
    </Page>
  );
}

/** Text as it was written: nothing in it is taken for markup. */
function Message({ who, when, text, staff = false, children }: { who: string; when: string; text: string; staff?: boolean; children?: ReactNode }) {
  return (
    <li className={css.message} data-staff={staff || undefined}>
      <span className={css.avatar} aria-hidden="true">
        {who.charAt(0).toUpperCase()}
      </span>
      <div className={css.bubble}>
        <p className={css.by}>
          <strong>{who}</strong> {staff && <span className={css.staff}>Support</span>} <span className="quiet"><Ago time={when} /></span>
        </p>
        <p className={css.text}>{text}</p>
        {children}
      </div>
    </li>
  );
}

function Attachments({ ticket }: { ticket: Ticket }) {
  if (ticket.attachments.length === 0) return null;
  const save = async (name: string) => {
    try {
      download(name, await attachment(ticket.id, name), "application/octet-stream");
    } catch (error) {
      notifications.show({ title: name, message: (error as Error).message, color: "red.8" });
    }
  };
  return (
    <ul className={css.chosen} aria-label="Attached files">
      {ticket.attachments.map((name) => (
        <li key={name}>
          <button type="button" className={css.file} onClick={() => void save(name)} aria-label={`Save ${name}`}>
            <Icon name="download" size={14} /> {name}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Answer({ id }: { id: number }) {
  const cache = useQueryClient();
  const [files, setFiles] = useState<File[]>([]);
  const [error, setError] = useState<string>();
  const form = useForm({ initialValues: { description: "" } });
  const sending = useSending(
    form,
    async ({ description }) => {
      setError(undefined);
      // Files first: if one is refused, nothing of what was typed has been sent yet. Those that went are taken off the list.
      for (const file of files) {
        await attach(id, file).catch((problem: unknown) => {
          if (problem instanceof Refused) setError(`${file.name}: ${problem.message}`);
          throw problem instanceof Refused && problem.status < 500 ? new Error(`${file.name} was not taken.`) : problem;
        });
        setFiles((before) => before.filter((kept) => kept !== file));
      }
      if (description || files.length === 0) await reply(id, description);
    },
    async () => {
      form.reset();
      await cache.invalidateQueries({ queryKey: ["tickets"] });
    },
  );
  return (
    <FormCard title="Write" sending={sending} submit="Send">
      <Textarea aria-label="Your answer" placeholder="Write an answer…" autosize minRows={4} {...form.getInputProps("description")} />
      <Files files={files} onChange={setFiles} error={error} />
    </FormCard>
  );
}

function Closing({ ticket, onDone }: { ticket: Ticket; onDone: () => void }) {
  const cache = useQueryClient();
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    try {
      await close(ticket.id);
      await cache.invalidateQueries({ queryKey: ["tickets"] });
      onDone();
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened onClose={onDone} title="Close this ticket?">
      <p>Nothing can be written to it afterwards. It stays in the list of closed tickets.</p>
      {problem !== null && <ErrorMessage error={problem} />}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onDone} data-autofocus>
          Keep it open
        </Button>
        <Button loading={busy} onClick={() => void confirm()}>
          Close it
        </Button>
      </Group>
    </Modal>
  );
}
