"""The same three calls in textbook style: FastAPI, response models, an async ORM on SQLite.

Runs in a Python with its own packages, which are no dependency of crofter.
"""

import asyncio
import socket
import sys
from datetime import datetime
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ForeignKey, func, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship, selectinload

FILE, TOKEN = sys.argv[1:3]


class Base(DeclarativeBase):
    pass


class Token(Base):
    __tablename__ = "token"
    id: Mapped[int] = mapped_column(primary_key=True)
    secret: Mapped[str] = mapped_column(unique=True)
    account_id: Mapped[int]


class Tag(Base):
    __tablename__ = "tag"
    id: Mapped[int] = mapped_column(primary_key=True)
    instance_id: Mapped[int] = mapped_column(ForeignKey("instance.id"), index=True)
    label: Mapped[str]


class Instance(Base):
    __tablename__ = "instance"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(index=True)
    label: Mapped[str]
    region: Mapped[str]
    type: Mapped[str]
    status: Mapped[str] = mapped_column(default="offline")
    ipv4: Mapped[str] = mapped_column(default="192.0.2.1")
    ipv6: Mapped[str] = mapped_column(default="2001:db8::1/128")
    image: Mapped[str | None] = mapped_column(default=None)
    hypervisor: Mapped[str] = mapped_column(default="kvm")
    watchdog_enabled: Mapped[bool] = mapped_column(default=True)
    disk: Mapped[int] = mapped_column(default=25600)
    memory: Mapped[int] = mapped_column(default=1024)
    vcpus: Mapped[int] = mapped_column(default=1)
    transfer: Mapped[int] = mapped_column(default=1000)
    cpu_alert: Mapped[int] = mapped_column(default=90)
    io_alert: Mapped[int] = mapped_column(default=10000)
    backups_enabled: Mapped[bool] = mapped_column(default=False)
    created: Mapped[datetime] = mapped_column(default=func.now())
    updated: Mapped[datetime] = mapped_column(default=func.now())
    tags: Mapped[list[Tag]] = relationship(lazy="raise")


class Event(Base):
    __tablename__ = "event"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(index=True)
    action: Mapped[str]
    entity_id: Mapped[int]
    created: Mapped[datetime] = mapped_column(default=func.now())


class Specs(BaseModel):
    disk: int
    memory: int
    vcpus: int
    transfer: int


class Alerts(BaseModel):
    cpu: int
    io: int


class Backups(BaseModel):
    enabled: bool


class InstanceOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: int
    label: str
    region: str
    type: str
    status: str
    ipv4: list[str]
    ipv6: str
    image: str | None
    hypervisor: str
    watchdog_enabled: bool
    specs: Specs
    alerts: Alerts
    backups: Backups
    tags: list[str]
    created: datetime
    updated: datetime


class PageOut(BaseModel):
    data: list[InstanceOut]
    page: int
    pages: int
    results: int


class InstanceIn(BaseModel):
    region: str
    type: str
    label: str = Field(min_length=3, max_length=64)


engine = create_async_engine(f"sqlite+aiosqlite:///{FILE}")
sessions = async_sessionmaker(engine, expire_on_commit=False)
app = FastAPI()


async def session():
    async with sessions() as opened:
        yield opened


Db = Annotated[AsyncSession, Depends(session)]


async def account(db: Db, authorization: Annotated[str, Header()]) -> int:
    token = await db.scalar(select(Token).where(Token.secret == authorization.removeprefix("Bearer ")))
    if token is None:
        raise HTTPException(401)
    return token.account_id


Account = Annotated[int, Depends(account)]


def shown(row: Instance) -> InstanceOut:
    return InstanceOut(
        **{name: getattr(row, name) for name in ("id", "label", "region", "type", "status", "ipv6", "image")},
        hypervisor=row.hypervisor,
        watchdog_enabled=row.watchdog_enabled,
        ipv4=[row.ipv4],
        specs=Specs(disk=row.disk, memory=row.memory, vcpus=row.vcpus, transfer=row.transfer),
        alerts=Alerts(cpu=row.cpu_alert, io=row.io_alert),
        backups=Backups(enabled=row.backups_enabled),
        tags=[tag.label for tag in row.tags],
        created=row.created,
        updated=row.updated,
    )


@app.get("/v4/compute/instances/{number}", response_model=InstanceOut)
async def view(number: int, db: Db, account_id: Account) -> InstanceOut:
    wanted = select(Instance).where(Instance.id == number, Instance.account_id == account_id)
    row = await db.scalar(wanted.options(selectinload(Instance.tags)))
    if row is None:
        raise HTTPException(404)
    return shown(row)


@app.get("/v4/compute/instances", response_model=PageOut)
async def listed(
    db: Db,
    account_id: Account,
    page: Annotated[int, Query(ge=1)] = 1,
    page_size: Annotated[int, Query(ge=25, le=500)] = 100,
) -> PageOut:
    mine = select(Instance).where(Instance.account_id == account_id)
    count = await db.scalar(select(func.count()).select_from(mine.subquery())) or 0
    rows = await db.scalars(
        mine.options(selectinload(Instance.tags)).order_by(Instance.id).limit(page_size).offset((page - 1) * page_size)
    )
    return PageOut(data=[shown(row) for row in rows], page=page, pages=-(-count // page_size), results=count)


@app.post("/v4/compute/instances", response_model=InstanceOut)
async def create(body: InstanceIn, db: Db, account_id: Account) -> InstanceOut:
    row = Instance(account_id=account_id, **body.model_dump(), tags=[])
    db.add(row)
    await db.flush()
    db.add(Event(account_id=account_id, action="compute_create", entity_id=row.id))
    await db.commit()
    await db.refresh(row, ["created", "updated"])
    return shown(row)


async def fill() -> None:
    async with engine.begin() as connection:
        await connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        await connection.run_sync(Base.metadata.create_all)
    async with sessions() as db:
        db.add(Token(secret=TOKEN, account_id=1))
        for number in range(1000):
            db.add(Instance(account_id=1, label=f"filled-{number}", region="us-east", type="g6-nanode-1"))
        await db.commit()


class Server(uvicorn.Server):
    async def startup(self, sockets=None) -> None:
        await super().startup(sockets)
        print(f"serves on http://127.0.0.1:{sockets[0].getsockname()[1]}", flush=True)


async def main() -> None:
    await fill()
    listening = socket.create_server(("127.0.0.1", 0))
    await Server(uvicorn.Config(app, log_level="warning", access_log=False)).serve(sockets=[listening])


asyncio.run(main())
