"""Execution of one command, from its arguments to its exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from crofter.client import flags, formats, paging, profiles, tree, waiting
from crofter.client.exits import OK, UNAUTHORISED, USAGE, Stop
from crofter.client.transport import Answer, Refused, Session
from crofter.client.tree import Command

JSON = {"Content-Type": "application/json"}


class Run:
    """A command with its parsed arguments."""

    def __init__(self, commands: list[Command], command: Command, asked: dict[str, Any]) -> None:
        self.commands, self.command, self.asked = commands, command, asked
        self.place = profiles.place(asked["url"], asked["profile"], asked["ca"])
        self.session = Session(self.place)
        self.form = asked.get("output") or self.place.output or "table"
        if self.form not in formats.FORMS:
            raise Stop(USAGE, f"{self.form!r} is no form of output: it is one of {', '.join(formats.FORMS)}")

    def done(self) -> int:
        if self.command.get("own"):
            return waiting.until_over(waiting.these(self.session, self.asked["arg0"]), self.asked["wait_timeout"])
        if self.command.get("answer") == "stream":
            return self._stream()
        if self.command.get("list"):
            return self._listed()
        if self.command["method"] == "GET":
            return self._answered(self._called())
        return self._written()

    # ---- requests ----

    def _path(self) -> str:
        return self._filled(self.command["path"])

    def _filled(self, path: str) -> str:
        """The path with the names of objects in it, which may hold anything, a slash too."""
        for at, name in enumerate(self.command["args"]):
            if not self.asked[f"arg{at}"]:
                raise Stop(USAGE, f"{name} is empty")
            before, _, rest = path.partition("{")
            path = before + quote(self.asked[f"arg{at}"], safe="") + rest.partition("}")[2]
        return path

    def _query(self, **more: Any) -> str:
        given = {
            parameter["name"]: self.asked.get(f"query:{parameter['name']}")
            for parameter in self.command.get("query", ())
        }
        sent = {
            name: json.dumps(value) if isinstance(value, bool) else value
            for name, value in {**given, **more}.items()
            if value is not None
        }
        return f"?{urlencode(sent)}" if sent else ""

    def _headers(self) -> dict[str, str]:
        headers = {"Prefer": "plan"} if self.asked.get("plan") else {}
        if self.asked.get("idempotency_key"):
            headers["Idempotency-Key"] = self.asked["idempotency_key"]
        if (filtered := flags.filter_of(self.command, self.asked)) is not None:
            headers["X-Filter"] = json.dumps(filtered)
        return headers

    def _called(self, **query: Any) -> Answer:
        headers, body = self._headers(), None
        if self.command.get("file"):
            headers["Content-Type"], body = uploaded(self.command["file"], Path(self.asked["file"]))
        elif (fields := flags.body_of(self.command, self.asked)) is not None:
            headers |= JSON
            body = json.dumps(fields).encode()
        answer = self.session.call(self.command["method"], self._path() + self._query(**query), headers, body)
        if not answer.good:
            raise Refused(answer)
        return answer

    # ---- kinds of commands ----

    def _listed(self) -> int:
        def fetch(page: int, size: int | None) -> dict[str, Any]:
            return dict(self._called(page=page, page_size=size).json())

        self._print(paging.listed(self.asked, fetch))
        return OK

    def _answered(self, answer: Answer) -> int:
        if self.command.get("answer") == "file":
            self._save(answer.body)
        else:
            self._print(answer.json())
        return OK

    def _written(self) -> int:
        waits = self._waits()
        before = self._newest(explicit=self.asked.get("wait") is True) if waits else None
        answer = self._called()
        written = answer.json()
        if before is None:
            self._print(written)
            return OK
        ask = waiting.started_by(self.session, before, self.command["events"], self._objects(written))
        try:
            return waiting.until_over(ask, self.asked["wait_timeout"])
        finally:
            self._print(self._fresh(written))

    def _objects(self, answer: Any) -> set[str]:
        """Return the objects named in the request or in the response, which select the events to wait for."""
        names = {self.asked[f"arg{at}"] for at in range(len(self.command["args"]))}
        sent = flags.body_of(self.command, self.asked)
        for part in (answer, sent):
            if isinstance(part, dict):
                named = {name: value for name, value in part.items() if name in formats.KEYS or name.endswith("_id")}
                names |= {str(value) for value in named.values() if value is not None}
        return names

    def _waits(self) -> bool:
        if not self.command.get("events") or self.asked.get("plan"):
            return False
        if self.asked["wait"] is None:
            return sys.stdout.isatty() and sys.stderr.isatty()
        return bool(self.asked["wait"])

    def _newest(self, *, explicit: bool) -> int | None:
        """Return the newest event id. Without the scope for events, return None unless the caller requires waiting."""
        try:
            return waiting.newest(self.session)
        except Refused as refused:
            if refused.code == UNAUTHORISED and not explicit:
                return None
            raise

    def _fresh(self, written: Any) -> Any:
        """Return the created object in its present state."""
        parent = tree.item_path(self.commands, self.command)
        if parent is None or not isinstance(written, dict) or "id" not in written:
            return written
        answer = self.session.call("GET", f"{self._filled(parent)}/{quote(str(written['id']), safe='')}")
        return {**written, **answer.json()} if answer.good else written

    def _stream(self) -> int:
        with self.session.lines(self._path() + self._query(), self._headers()) as lines:
            for line in lines:
                if line.startswith("data:"):
                    event = json.loads(line[5:])
                    shown = line[5:].strip() if self.form == "json" else self._event_line(event)
                    print(shown, flush=True)
        return OK

    def _event_line(self, event: dict[str, Any]) -> str:
        columns = self._columns() or ["id", "created", "action", "status", "entity.label", "username"]
        return formats.GAP.join(formats.cell(formats.looked_up(event, column)) for column in columns)

    # ---- answers ----

    def _columns(self) -> list[str]:
        """Return the chosen columns, or those that the settings name for this group."""
        if self.asked.get("columns"):
            return [name.strip() for name in self.asked["columns"].split(",")]
        if not self.command.get("list"):
            return []
        return list(self.place.columns.get(" ".join(self.command["words"][:-1]), []))

    def _print(self, value: Any) -> None:
        chosen = self._columns()
        width = None
        if sys.stdout.isatty():
            import shutil  # noqa: PLC0415

            width = shutil.get_terminal_size().columns
        columns = chosen or self.command.get("columns", [])
        sys.stdout.write(formats.rendered(value, self.form, columns, bool(chosen), width))

    def _save(self, content: bytes) -> None:
        if self.asked["to"]:
            try:
                Path(self.asked["to"]).write_bytes(content)
            except OSError as error:
                raise Stop(USAGE, f"{self.asked['to']}: {error.strerror}") from error
        elif sys.stdout.isatty() and not content.isascii():
            raise Stop(USAGE, "this is not for a terminal: give --to FILE, or send it on")
        else:
            sys.stdout.buffer.write(content)


def uploaded(types: list[str], file: Path) -> tuple[str, bytes]:
    """A file as the body: alone, or as the one part of a form."""
    import mimetypes  # noqa: PLC0415 - few commands need it

    try:
        content = file.read_bytes()
    except OSError as error:
        raise Stop(USAGE, f"{file}: {error.strerror}") from error
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if types != ["multipart/form-data"]:
        return (kind if kind in types else types[0]), content
    boundary = "crofter-form-boundary"
    while boundary.encode() in content:
        boundary += "-"
    name = file.name.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\n", " ")
    disposition = f'Content-Disposition: form-data; name="file"; filename="{name}"'
    head = f"--{boundary}\r\n{disposition}\r\nContent-Type: {kind}\r\n\r\n"
    return f"multipart/form-data; boundary={boundary}", head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
