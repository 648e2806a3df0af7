# Writes an archive of two ranks with OTF2's own Python module: ranks.py FOLDER. Rank 1 waits 300 us for a message of
# rank 0, and then 200 us in a barrier, for which rank 0 is late.
import sys

import otf2
from otf2.enums import CollectiveOp, GroupType, Paradigm, RegionRole

with otf2.writer.open(sys.argv[1], timer_resolution=1000000) as trace:
    d = trace.definitions
    host = d.system_tree_node("host", class_name="node", parent=d.system_tree_node("machine"))
    main = d.region("main", source_file="p.c", begin_line_number=3)
    send = d.region("MPI_Send", region_role=RegionRole.POINT2POINT, paradigm=Paradigm.MPI)
    recv = d.region("MPI_Recv", region_role=RegionRole.POINT2POINT, paradigm=Paradigm.MPI)
    barrier = d.region("MPI_Barrier", region_role=RegionRole.BARRIER, paradigm=Paradigm.MPI)
    locations = [d.location("thread", group=d.location_group("rank %d" % r, system_tree_parent=host)) for r in range(2)]
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
    world = d.comm("world", group=d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=[0, 1]))
    a, b = (trace.event_writer_from_location(x) for x in locations)
    a.enter(1000, main)
    b.enter(1000, main)
    b.enter(1100, recv)
    a.enter(1400, send)
    a.mpi_send(1400, 1, world, 7, 64)
    a.leave(1410, send)
    b.mpi_recv(1420, 0, world, 7, 64)
    b.leave(1420, recv)
    b.enter(1500, barrier)
    a.enter(1700, barrier)
    for w in a, b:
        w.mpi_collective_end(1710, CollectiveOp.BARRIER, world, 0xFFFFFFFF, 0, 0)
        w.leave(1710, barrier)
        w.leave(2000, main)
