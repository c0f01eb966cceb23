/** Rules of both directions, in the order in which they are tried, and what happens to the rest. */
import { ActionIcon, Button, Menu, SegmentedControl, Select, TagsInput, TextInput, Tooltip } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";

import { Icon } from "../../ui/Icon";
import { Card } from "../../ui/Page";
import { aboutNetworks, type Direction, type EditedRule, USUAL } from "./rules";
import css from "./Rules.module.css";

/** The form holds the rules at `at`, whatever else it holds. */
type AnyForm = UseFormReturnType<any>;
const TITLES: Record<Direction, string> = { inbound: "Inbound: to the instances", outbound: "Outbound: from the instances" };

/** `at` is where in the form the rules are: `rules.` or nothing. */
export function RulesEditor({ form, at = "", readOnly = false }: { form: AnyForm; at?: string; readOnly?: boolean }) {
  return (
    <>
      <DirectionCard form={form} at={at} direction="inbound" readOnly={readOnly} />
      <DirectionCard form={form} at={at} direction="outbound" readOnly={readOnly} />
    </>
  );
}

function DirectionCard({ form, at, direction, readOnly }: { form: AnyForm; at: string; direction: Direction; readOnly: boolean }) {
  const path = `${at}${direction}`;
  const rules = (at ? form.values.rules : form.values)[direction] as EditedRule[];
  return (
    <Card
      title={TITLES[direction]}
      aside={
        <Menu position="bottom-end">
          <Menu.Target>
            <Button variant="default" size="xs" disabled={readOnly} leftSection={<Icon name="plus" size={14} />} aria-label={`Add ${direction} rule`} style={{ flex: "none" }}>
              Add rule
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {USUAL.map(({ name, rule }) => (
              <Menu.Item key={name} onClick={() => form.insertListItem(path, rule)}>
                {name}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      }
    >
      {rules.length === 0 && <p className="quiet">No rules: the policy below decides for all traffic.</p>}
      <ol className={css.rules}>
        {rules.map((rule, place) => (
          // Rules have no id; the whole list is drawn again when their order changes.
          <li key={place}>
            <Rule form={form} path={`${path}.${place}`} list={path} place={place} last={place === rules.length - 1} rule={rule} name={`${direction} rule ${place + 1}`} readOnly={readOnly} />
          </li>
        ))}
      </ol>
      <div className={css.policy}>
        <span>All other traffic is</span>
        <SegmentedControl
          size="xs"
          aria-label={`Policy for ${direction} traffic`}
          readOnly={readOnly}
          data={[
            { value: "ACCEPT", label: "let through" },
            { value: "DROP", label: "dropped" },
          ]}
          {...form.getInputProps(`${path}_policy`)}
        />
      </div>
    </Card>
  );
}

function Rule(props: { form: AnyForm; path: string; list: string; place: number; last: boolean; rule: EditedRule; name: string; readOnly: boolean }) {
  const { form, path, rule, name, place, readOnly } = props;
  const move = (to: number) => form.reorderListItem(props.list, { from: place, to });
  return (
    <fieldset className={css.rule} data-action={rule.action}>
      <legend className="unseen">{name}</legend>
      <span className={`${css.place} figures`} aria-hidden>
        {place + 1}
      </span>
      <Select label="Action" allowDeselect={false} readOnly={readOnly} data={[{ value: "ACCEPT", label: "Accept" }, { value: "DROP", label: "Drop" }]} {...form.getInputProps(`${path}.action`)} />
      <Select label="Protocol" allowDeselect={false} readOnly={readOnly} data={["TCP", "UDP", "ICMP"]} {...form.getInputProps(`${path}.protocol`)} />
      <TextInput label="Ports" placeholder={rule.protocol === "ICMP" ? "none" : "22, 8000-9000"} readOnly={readOnly} disabled={rule.protocol === "ICMP"} autoComplete="off" {...form.getInputProps(`${path}.ports`)} />
      <TagsInput
        className={css.networks}
        label="Networks"
        readOnly={readOnly}
        placeholder={rule.networks.length ? undefined : "192.0.2.0/24, Enter after each"}
        data={["0.0.0.0/0", "::/0"]}
        splitChars={[",", " "]}
        acceptValueOnBlur
        {...form.getInputProps(`${path}.networks`)}
        error={aboutNetworks(form.errors, path, rule.networks)}
      />
      <TextInput label="Name" placeholder="optional" readOnly={readOnly} autoComplete="off" {...form.getInputProps(`${path}.label`)} />
      <div className={css.buttons}>
        <Step label={`Move ${name} up`} icon="up" disabled={readOnly || place === 0} onClick={() => move(place - 1)} />
        <Step label={`Move ${name} down`} icon="down" disabled={readOnly || props.last} onClick={() => move(place + 1)} />
        <Step label={`Remove ${name}`} icon="trash" disabled={readOnly} onClick={() => form.removeListItem(props.list, place)} />
      </div>
    </fieldset>
  );
}

function Step({ label, icon, disabled, onClick }: { label: string; icon: "up" | "down" | "trash"; disabled: boolean; onClick: () => void }) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" size={30} aria-label={label} disabled={disabled} onClick={onClick}>
        <Icon name={icon} size={16} />
      </ActionIcon>
    </Tooltip>
  );
}
