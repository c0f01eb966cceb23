import time
from tests.cloud import Cloud
from tests.databases import *
import tests.databases as D
from crofter import catalogue, corridor
from crofter.catalogue import files
def run(c,name):
    t=time.perf_counter()
    for _ in range(5): c.reset()
    print(name,"reset", (time.perf_counter()-t)/5)
    t=time.perf_counter(); files.read(corridor.SHELVES,None); print("read files", time.perf_counter()-t)
    with c.world.database.write() as db:
        t=time.perf_counter(); catalogue.load(db, corridor.SHELVES, None); print("load again", time.perf_counter()-t)
    from crofter.db.schema import empty
    t=time.perf_counter(); empty(c.world.database); print("empty", time.perf_counter()-t)
    with c.world.database.write() as db:
        t=time.perf_counter(); catalogue.load(db, corridor.SHELVES, None); print("load fresh", time.perf_counter()-t)
def test_it(postgres_server):
    run(Cloud(),"sqlite")
    run(Cloud(postgres_server.address(postgres_server.create())),"pg")
