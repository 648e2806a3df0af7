# Writes an archive of two ranks with OTF2's own Python module: clocks.py FOLDER. The clock of rank 1 is 500 us behind.
# They send to each other, and take turns with a lock of a window.
import sys

import _otf2
import otf2
from otf2.enums import GroupType, LockType, Paradigm, RegionRole

with otf2.writer.open(sys.argv[1], timer_resolution=1000000) as trace:
    d = trace.definitions
    host = d.system_tree_node("host", class_name="node", parent=d.system_tree_node("machine"))
    main = d.region("main")
    send = d.region("MPI_Send", region_role=RegionRole.POINT2POINT, paradigm=Paradigm.MPI)
    recv = d.region("MPI_Recv", region_role=RegionRole.POINT2POINT, paradigm=Paradigm.MPI)
    lock = d.region("MPI_Win_lock", region_role=RegionRole.RMA, paradigm=Paradigm.MPI)
    unlock = d.region("MPI_Win_unlock", region_role=RegionRole.RMA, paradigm=Paradigm.MPI)
    locations = [d.location("thread", group=d.location_group("rank %d" % r, system_tree_parent=host)) for r in range(2)]
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
    world = d.comm("world", group=d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=[0, 1]))
    window = d.rma_win("window", world)
    behind = 500
    a, b = (trace.event_writer_from_location(x) for x in locations)
    a.enter(1000, main)
    b.enter(1000 - behind, main)
    b.enter(1100 - behind, recv)
    a.enter(1400, send)
    a.mpi_send(1400, 1, world, 7, 64)
    a.leave(1410, send)
    b.mpi_recv(1420 - behind, 0, world, 7, 64)
    b.leave(1420 - behind, recv)
    for w, at, late in (a, 1500, 0), (b, 1600, behind):
        w.enter(at - late, lock)
        w.rma_acquire_lock(at + 20 - late, window, 0, 3, LockType.EXCLUSIVE)
        w.leave(at + 20 - late, lock)
        w.enter(at + 50 - late, unlock)
        w.rma_release_lock(at + 50 - late, window, 0, 3)
        w.leave(at + 60 - late, unlock)
        w.leave(2000 - late, main)
    for at in 500, 1500: # the module has no other way to say it
        _otf2.DefWriter_WriteClockOffset(b._def_handle, at, behind, 0.0)
